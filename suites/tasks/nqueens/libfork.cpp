#include "workload.hpp"

#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

struct LibFork {
    explicit LibFork(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return lf::sync_wait(threads_, from<N>, board, std::size_t{0});
    }

    template <std::size_t N>
    static constexpr auto from =
        [](auto self, toll::nqueens::Board<N> board, std::size_t placed) -> lf::task<std::uint64_t> {
        if (placed == N) { co_return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        const std::size_t last = free.count - 1;
        for (std::size_t i = 0; i < last; ++i) {
            board[placed] = free.rows[i];
            co_await lf::fork(&found[i], self)(board, placed + 1);
        }
        board[placed] = free.rows[last];
        co_await lf::call(&found[last], self)(board, placed + 1);
        co_await lf::join;
        co_return toll::nqueens::total(found, free.count);
    };

    lf::lazy_pool threads_;
};

TOLL_CONTENDER(nqueens, libfork, LibFork);
