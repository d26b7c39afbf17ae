#include "../shared/taskflow_tasks.hpp"
#include "workload.hpp"

struct Taskflow {
    explicit Taskflow(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute([&board](toll::TaskflowScope scope) { return from(board, 0, scope); });
    }

    template <std::size_t N>
    static std::uint64_t from(toll::nqueens::Board<N> board, std::size_t placed,
                              toll::TaskflowScope scope) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        toll::TaskflowGroup group{scope};
        const std::size_t last = free.count - 1;
        for (std::size_t i = 0; i < last; ++i) {
            board[placed] = free.rows[i];
            group.run([board, placed, &one = found[i]](toll::TaskflowScope own) {
                one = from(board, placed + 1, own);
            });
        }
        board[placed] = free.rows[last];
        found[last] = group.run_and_wait(
            [&board, placed](toll::TaskflowScope own) { return from(board, placed + 1, own); });
        return toll::nqueens::total(found, free.count);
    }

    toll::TaskflowThreads threads_;
};

TOLL_CONTENDER(nqueens, taskflow, Taskflow);
