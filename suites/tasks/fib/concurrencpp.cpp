#include "../shared/concurrencpp_pool.hpp"
#include "workload.hpp"

#include <cstdint>

struct Concurrencpp {
    explicit Concurrencpp(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return forking({}, threads_.executor(), n).get(); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static concurrencpp::result<std::uint64_t> forking(concurrencpp::executor_tag tag,
                                                       toll::ConcurrencppPool::Executor pool,
                                                       std::uint64_t n) {
        if (n < 2) { co_return n; }
        auto first = forking(tag, pool, n - 1);
        auto second = forking(tag, pool, n - 2);
        co_return co_await first + co_await second;
    }

    toll::ConcurrencppPool threads_;
};

TOLL_CONTENDER(fib, concurrencpp, Concurrencpp);
