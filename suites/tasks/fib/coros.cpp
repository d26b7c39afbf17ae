#include "../shared/coros_pool.hpp"
#include "workload.hpp"

#include <cstdint>

struct Coros {
    explicit Coros(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return threads_.execute(forking(n)); }

    static coros::Task<std::uint64_t> forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { co_return n; }
        coros::Task<std::uint64_t> first = forking(n - 1);
        coros::Task<std::uint64_t> second = forking(n - 2);
        co_await coros::wait_tasks(first, second);
        co_return toll::result_of(first) + toll::result_of(second);
    }

    toll::CorosPool threads_;
};

TOLL_CONTENDER(fib, coros, Coros);
