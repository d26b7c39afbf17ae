#include "../shared/hpx_runtime.hpp"
#include "../shared/memory_limit.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

struct Hpx {
    explicit Hpx(const toll::nqueens::Inputs& inputs) : threads_(with_room(inputs)) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute([&board] { return from(board, 0); });
    }

    template <std::size_t N>
    static std::uint64_t from(toll::nqueens::Board<N> board,
                              std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { return 0; }
        std::array<hpx::future<std::uint64_t>, N> tasks;
        const std::size_t last = free.count - 1;
        for (std::size_t i = 0; i < last; ++i) {
            board[placed] = free.rows[i];
            tasks[i] = hpx::async(&from<N>, board, placed + 1);
        }
        board[placed] = free.rows[last];
        std::uint64_t found = from(board, placed + 1);
        for (std::size_t i = 0; i < last; ++i) { found += tasks[i].get(); }
        return found;
    }

private:
    static constexpr std::uint64_t bytes = 1'100;  // a queen: 950 to 1,070 (n of 11)

    static unsigned with_room(const toll::nqueens::Inputs& inputs) {
        toll::require_memory(inputs.placed, bytes, "threads of HPX that may wait at once");
        return inputs.threads;
    }

    toll::HpxRuntime threads_;
};

TOLL_CONTENDER(nqueens, hpx, Hpx);
