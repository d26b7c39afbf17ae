#include "../shared/one_thread.hpp"
#include "workload.hpp"

/// The floor: plain calls. Nothing is forked, so no scheduler can be cheaper.
struct SequentialRecursion {
    explicit SequentialRecursion(const toll::nqueens::Inputs& inputs) {
        toll::require_one_thread(inputs.threads, "a recursion has one thread");
    }

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return from(board, 0);
    }

    template <std::size_t N>
    static std::uint64_t from(toll::nqueens::Board<N> board,
                              std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            sum += from(board, placed + 1);
        }
        return sum;
    }
};

TOLL_CONTENDER(nqueens, sequential_recursion, SequentialRecursion);
