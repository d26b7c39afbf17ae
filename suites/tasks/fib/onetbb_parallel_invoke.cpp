#include "../shared/onetbb_arena.hpp"
#include "workload.hpp"

#include <oneapi/tbb/parallel_invoke.h>

struct OneTbbParallelInvoke {
    explicit OneTbbParallelInvoke(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) {
        return threads_.execute([n] { return forking(n); });
    }

    static std::uint64_t forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        tbb::parallel_invoke([&first, n] { first = forking(n - 1); },
                             [&second, n] { second = forking(n - 2); });
        return first + second;
    }

    toll::OneTbbArena threads_;
};

TOLL_CONTENDER(fib, onetbb_parallel_invoke, OneTbbParallelInvoke);
