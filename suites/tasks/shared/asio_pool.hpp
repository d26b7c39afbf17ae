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

    /// `coroutines` is how many one tree has. Throws Unsupported where they would take half of the machine's
    /// memory: the pool runs the oldest first, so that a tree grows level by level (fib(27) held 325 MB, a
    /// kilobyte for each of its 317,810 calls that fork).
    AsioPool(unsigned threads, std::uint64_t coroutines) : pool_(with_room_for(coroutines, threads)) {}

    [[nodiscard]] Executor executor() noexcept { return pool_.get_executor(); }

    /// What `coroutine` returns, once a thread of the pool has run it.
    template <class T>
    T execute(Awaitable<T> coroutine) {
        return boost::asio::co_spawn(pool_, std::move(coroutine), boost::asio::use_future).get();
    }

private:
    static unsigned with_room_for(std::uint64_t coroutines, unsigned threads) {
        constexpr std::uint64_t frame_bytes = 1024;  // of one that waits, with what its children share
        require_memory(coroutines, frame_bytes, "coroutines, of which the pool runs the oldest first");
        return threads;
    }

    boost::asio::thread_pool pool_;
};

}  // namespace toll
