#include "../shared/libcoro_pool.hpp"
#include "workload.hpp"

#include <cstdint>

struct Libcoro {
    explicit Libcoro(const toll::fib::Inputs& inputs)
        : threads_(inputs.threads, {toll::fib::forks(inputs.n), bytes}) {}

    std::uint64_t run(std::uint64_t n) { return coro::sync_wait(forking(threads_.pool(), n)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static coro::task<std::uint64_t> forking(coro::thread_pool& pool, std::uint64_t n) {
        if (n < 2) { co_return n; }
        co_await pool.schedule();
        auto [first, second] = co_await coro::when_all(forking(pool, n - 1), forking(pool, n - 2));
        co_return first.return_value() + second.return_value();
    }

    static constexpr std::uint64_t bytes = 256;  // a call that forks: 208 to 218 (n from 27 to 32)

    toll::LibcoroPool threads_;
};

TOLL_CONTENDER(fib, libcoro, Libcoro);
