#include "../shared/hpx_runtime.hpp"
#include "../shared/memory_limit.hpp"
#include "workload.hpp"

#include <cstdint>

/// A parent that waits keeps its stack and gives its thread to others. As coroutines that co_await, fib(22)
/// to fib(27) took 1.7 to 2.8 times the time with two threads, and 1.7 to 2.1 times the memory; the author of
/// runtime-benchmarks saw it the other way round, in memory, with fib(39) on 64 threads.
struct Hpx {
    explicit Hpx(const toll::fib::Inputs& inputs) : threads_(with_room(inputs)) {}

    std::uint64_t run(std::uint64_t n) {
        return threads_.execute([n] { return forking(n); });
    }

    static std::uint64_t forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        hpx::future<std::uint64_t> first = hpx::async(forking, n - 1);
        const std::uint64_t second = forking(n - 2);
        return first.get() + second;
    }

private:
    static constexpr std::uint64_t bytes = 2'100;  // a call that forks: 1,880 to 2,080 (n of 25 and 27)

    static unsigned with_room(const toll::fib::Inputs& inputs) {
        toll::require_memory(toll::fib::forks(inputs.n), bytes, "threads of HPX that may wait at once");
        return inputs.threads;
    }

    toll::HpxRuntime threads_;
};

TOLL_CONTENDER(fib, hpx, Hpx);
