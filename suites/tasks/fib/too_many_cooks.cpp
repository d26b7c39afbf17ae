#include "../shared/too_many_cooks_threads.hpp"
#include "workload.hpp"

#include <tmc/spawn.hpp>

struct TooManyCooks {
    explicit TooManyCooks(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return threads_.execute(forking(n)); }

    static tmc::task<std::uint64_t> forking(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { co_return n; }
        auto first = tmc::spawn(forking(n - 1)).fork();
        const std::uint64_t second = co_await forking(n - 2);
        co_return co_await std::move(first) + second;
    }

    toll::TooManyCooksThreads threads_;
};

TOLL_CONTENDER(fib, too_many_cooks, TooManyCooks);
