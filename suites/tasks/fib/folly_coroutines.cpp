#include "../shared/folly_pool.hpp"
#include "../shared/memory_limit.hpp"
#include "workload.hpp"

#include <cstdint>

struct FollyCoroutines {
    explicit FollyCoroutines(const toll::fib::Inputs& inputs) : threads_(with_room(inputs)) {}

    std::uint64_t run(std::uint64_t n) { return threads_.execute(forking(n, false)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static folly::coro::Task<std::uint64_t> forking(std::uint64_t n, bool queued) {
        if (queued) { co_await folly::coro::co_reschedule_on_current_executor; }
        if (n < 2) { co_return n; }
        const auto [first, second] =
            co_await folly::coro::collectAllTry(forking(n - 1, true), forking(n - 2, false));
        co_return first.value() + second.value();
    }

private:
    static constexpr std::uint64_t bytes = 1'000;  // a call that forks: 470 to 990 (n of 27 and 25)

    static unsigned with_room(const toll::fib::Inputs& inputs) {
        toll::require_memory(toll::fib::forks(inputs.n), bytes, "coroutines that may wait at once");
        return inputs.threads;
    }

    toll::FollyPool threads_;
};

TOLL_CONTENDER(fib, folly_coroutines, FollyCoroutines);
