#include "../shared/stdexec_pool.hpp"
#include "workload.hpp"

#include <cstdint>

struct Stdexec {
    explicit Stdexec(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return threads_.execute(forking(threads_.scheduler(), n)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static toll::StdexecTask<std::uint64_t> forking(toll::StdexecPool::Scheduler pool, std::uint64_t n) {
        if (n < 2) { co_return n; }
        auto [first, second] =
            co_await stdexec::when_all(stdexec::starts_on(pool, forking(pool, n - 1)), forking(pool, n - 2));
        co_return first + second;
    }

    toll::StdexecPool threads_;
};

TOLL_CONTENDER(fib, stdexec, Stdexec);
