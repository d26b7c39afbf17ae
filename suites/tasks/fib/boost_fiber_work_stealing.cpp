#include "../shared/fiber_workers.hpp"
#include "workload.hpp"

struct BoostFiberWorkStealing {
    static constexpr bool once_per_process = toll::WorkStealingFibers::once_per_process;

    explicit BoostFiberWorkStealing(const toll::fib::Inputs& inputs)
        : fibers_(inputs.threads, toll::fib::forks(inputs.n)) {}

    std::uint64_t run(std::uint64_t n) {
        std::uint64_t number = 0;
        fibers_.execute([&number, n] { number = forking(n); });
        return number;
    }

    static std::uint64_t forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = 0;
        auto forked = toll::WorkStealingFibers::start([&first, n] { first = forking(n - 1); });
        const std::uint64_t second = forking(n - 2);
        forked.join();
        return first + second;
    }

    toll::WorkStealingFibers fibers_;
};

TOLL_CONTENDER(fib, boost_fiber_work_stealing, BoostFiberWorkStealing);
