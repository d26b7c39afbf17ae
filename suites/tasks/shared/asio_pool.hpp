#pragma once

#include "asio_children.hpp"
#include "memory_limit.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <utility>

namespace toll {

/// Asio's own pool of threads, which run coroutines.
class AsioPool {
public:
    using Executor = boost::asio::thread_pool::executor_type;
    template <class T>
    using Awaitable = boost::asio::awaitable<T, Executor>;

    /// `coroutines` is how many a tree has at most. Throws Unsupported where they would take half of the
    /// memory: co_spawn() begins each in the thread of the pool that spawns it, and what waits in the queue
    /// is the ends of leaves, so that the whole tree may stand at once (fib(27), of 317,810 calls that fork,
    /// held 880 MB).
    AsioPool(unsigned threads, std::uint64_t coroutines) : pool_(with_room_for(coroutines, threads)) {}

    [[nodiscard]] Executor executor() noexcept { return pool_.get_executor(); }

    /// What `coroutine` returns, once a thread of the pool has run it.
    template <class T>
    T execute(Awaitable<T> coroutine) {
        return boost::asio::co_spawn(pool_, std::move(coroutine), boost::asio::use_future).get();
    }

private:
    static unsigned with_room_for(std::uint64_t coroutines, unsigned threads) {
        constexpr std::uint64_t bytes = 3072;  // of one that waits, its children's ends and what they share
        require_memory(coroutines, bytes, "coroutines that may wait for each other at once");
        return threads;
    }

    boost::asio::thread_pool pool_;
};

}  // namespace toll
