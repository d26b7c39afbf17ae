#include "../shared/onetbb_arena.hpp"
#include "workload.hpp"

#include <oneapi/tbb/task_group.h>

struct OneTbbTaskGroup {
    explicit OneTbbTaskGroup(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) {
        return threads_.execute([n] { return forking(n); });
    }

    static std::uint64_t forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = 0;
        tbb::task_group group;
        group.run([&first, n] { first = forking(n - 1); });
        const std::uint64_t second = forking(n - 2);
        group.wait();
        return first + second;
    }

    toll::OneTbbArena threads_;
};

TOLL_CONTENDER(fib, onetbb_task_group, OneTbbTaskGroup);
