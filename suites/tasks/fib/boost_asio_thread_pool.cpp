#include "../shared/asio_pool.hpp"
#include "workload.hpp"

struct BoostAsioThreadPool {
    explicit BoostAsioThreadPool(const toll::fib::Inputs& inputs)
        : pool_(inputs.threads, toll::fib::forks(inputs.n)) {}

    std::uint64_t run(std::uint64_t n) { return pool_.execute(forking(pool_.executor(), n)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static toll::AsioPool::Awaitable<std::uint64_t> forking(toll::AsioPool::Executor pool, std::uint64_t n) {
#if defined(__clang_analyzer__)
        co_return 0;  // it does not know how coroutines begin, and finds uninitialised frames inside Asio
#endif
        if (n < 2) { co_return n; }
        const auto call = [pool, n](std::size_t i) { return forking(pool, n - 1 - i); };
        co_return co_await toll::total_of_spawned<2>(pool, 2, call);
    }

    toll::AsioPool pool_;
};

TOLL_CONTENDER(fib, boost_asio_thread_pool, BoostAsioThreadPool);
