#include "workload.hpp"

#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <cstdint>

struct Cppcoro {
    explicit Cppcoro(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return cppcoro::sync_wait(forking(threads_, n, true)); }

    /// One of two queues itself. schedule_on() does that for a task that knows nothing of it, at the price of
    /// a second coroutine around it.
    // NOLINTNEXTLINE(misc-no-recursion)
    static cppcoro::task<std::uint64_t> forking(cppcoro::static_thread_pool& pool, std::uint64_t n,
                                                bool queued) {
        if (queued) { co_await pool.schedule(); }
        if (n < 2) { co_return n; }
        const auto [first, second] =
            co_await cppcoro::when_all(forking(pool, n - 1, true), forking(pool, n - 2, false));
        co_return first + second;
    }

    cppcoro::static_thread_pool threads_;
};

TOLL_CONTENDER(fib, cppcoro, Cppcoro);
