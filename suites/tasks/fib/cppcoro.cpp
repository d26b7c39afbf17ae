#include "workload.hpp"

#include <cppcoro/schedule_on.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <cstdint>

struct Cppcoro {
    explicit Cppcoro(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) {
        return cppcoro::sync_wait(cppcoro::schedule_on(threads_, forking(threads_, n)));
    }

    // NOLINTNEXTLINE(misc-no-recursion)
    static cppcoro::task<std::uint64_t> forking(cppcoro::static_thread_pool& pool, std::uint64_t n) {
        if (n < 2) { co_return n; }
        const auto [first, second] = co_await cppcoro::when_all(
            cppcoro::schedule_on(pool, forking(pool, n - 1)), forking(pool, n - 2));
        co_return first + second;
    }

    cppcoro::static_thread_pool threads_;
};

TOLL_CONTENDER(fib, cppcoro, Cppcoro);
