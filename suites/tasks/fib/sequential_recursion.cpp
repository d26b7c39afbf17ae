#include "workload.hpp"

/// The floor: plain calls. Nothing is forked, so no scheduler can be cheaper.
struct SequentialRecursion {
    explicit SequentialRecursion(const toll::fib::Inputs& inputs) {
        toll::fib::require_one_thread(inputs, "a recursion has one thread");
    }

    /// One call in the middle as in the others: GCC 12 else unrolls the recursion over several levels.
    [[gnu::noinline]] std::uint64_t run(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = run(n - 1);
        toll::keep_changed(first);
        return first + run(n - 2);
    }
};

TOLL_CONTENDER(fib, sequential_recursion, SequentialRecursion);
