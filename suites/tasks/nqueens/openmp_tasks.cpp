#include "../shared/openmp_team.hpp"
#include "workload.hpp"

struct OpenMpTasks {
    explicit OpenMpTasks(const toll::nqueens::Inputs& inputs)
        : threads_(toll::openmp_threads(inputs.threads)) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        std::uint64_t result = 0;
#pragma omp parallel num_threads(threads_)
#pragma omp single
        result = from(board, 0);
        return result;
    }

    template <std::size_t N>
    static std::uint64_t from(toll::nqueens::Board<N> board,
                              std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        const std::size_t last = free.count - 1;
        for (std::size_t i = 0; i < last; ++i) {
            board[placed] = free.rows[i];
#pragma omp task default(none) shared(found) firstprivate(board, placed, i)
            found[i] = from(board, placed + 1);
        }
        board[placed] = free.rows[last];
        found[last] = from(board, placed + 1);
#pragma omp taskwait
        return toll::nqueens::total(found, free.count);
    }

    unsigned threads_;
};

TOLL_CONTENDER(nqueens, openmp_tasks, OpenMpTasks);
