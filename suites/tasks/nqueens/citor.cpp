#include "../shared/citor_pool.hpp"
#include "workload.hpp"

struct Citor {
    explicit Citor(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return from(board, 0);
    }

    template <std::size_t N>
    std::uint64_t from(const toll::nqueens::Board<N>& board,
                       std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        threads_.fork_join_all(free.count, [&](std::size_t i) {
            toll::nqueens::Board<N> own = board;
            own[placed] = free.rows[i];
            found[i] = from(own, placed + 1);
        });
        return toll::nqueens::total(found, free.count);
    }

    toll::CitorPool threads_;
};

TOLL_CONTENDER(nqueens, citor, Citor);
