#include "../shared/one_thread.hpp"
#include "workload.hpp"

/// The floor: plain calls. Nothing is forked, so no scheduler can be cheaper.
struct SequentialRecursion {
    explicit SequentialRecursion(const toll::fib::Inputs& inputs) {
        toll::require_one_thread(inputs.threads, "a recursion has one thread");
    }

    /// Not inlined into itself: GCC 12 else makes several levels of calls one, 0.65 ns a task where calls
    /// take 1.5, which no runtime that forks can have.
    [[gnu::noinline]] std::uint64_t run(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        const std::uint64_t first = run(n - 1);
        return first + run(n - 2);
    }
};

TOLL_CONTENDER(fib, sequential_recursion, SequentialRecursion);
