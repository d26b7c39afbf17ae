#include "../shared/openmp_team.hpp"
#include "workload.hpp"

struct OpenMpTasks {
    explicit OpenMpTasks(const toll::fib::Inputs& inputs) : threads_(toll::openmp_threads(inputs.threads)) {}

    std::uint64_t run(std::uint64_t n) {
        std::uint64_t result = 0;
#pragma omp parallel num_threads(threads_)
#pragma omp single
        result = forking(n);
        return result;
    }

    static std::uint64_t forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = 0;
#pragma omp task default(none) shared(first) firstprivate(n)
        first = forking(n - 1);
        const std::uint64_t second = forking(n - 2);
#pragma omp taskwait
        return first + second;
    }

    unsigned threads_;
};

TOLL_CONTENDER(fib, openmp_tasks, OpenMpTasks);
