#include "../shared/taskflow_tasks.hpp"
#include "workload.hpp"

struct Taskflow {
    explicit Taskflow(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) {
        return threads_.execute([n](toll::TaskflowScope scope) { return forking(n, scope); });
    }

    static std::uint64_t forking(std::uint64_t n, toll::TaskflowScope scope) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = 0;
        toll::TaskflowGroup group{scope};
        group.run([&first, n](toll::TaskflowScope own) { first = forking(n - 1, own); });
        const std::uint64_t second =
            group.run_and_wait([n](toll::TaskflowScope own) { return forking(n - 2, own); });
        return first + second;
    }

    toll::TaskflowThreads threads_;
};

TOLL_CONTENDER(fib, taskflow, Taskflow);
