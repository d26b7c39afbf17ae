#include "../shared/cppcoro_pool.hpp"
#include "workload.hpp"

#include <cppcoro/schedule_on.hpp>
#include <cppcoro/when_all.hpp>

#include <cstdint>

struct Cppcoro {
    explicit Cppcoro(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return threads_.execute(forking(threads_.pool(), n)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static cppcoro::task<std::uint64_t> forking(cppcoro::static_thread_pool& pool, std::uint64_t n) {
        if (n < 2) { co_return n; }
        const auto [first, second] = co_await cppcoro::when_all(
            cppcoro::schedule_on(pool, forking(pool, n - 1)), forking(pool, n - 2));
        co_return first + second;
    }

    toll::CppcoroPool threads_;
};

TOLL_CONTENDER(fib, cppcoro, Cppcoro);
