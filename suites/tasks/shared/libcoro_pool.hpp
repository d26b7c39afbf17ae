#pragma once

#include "memory_limit.hpp"

#include <coro/coro.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace toll {

/// Coroutines of a tree on libcoro's pool, and what each has of the memory while all of one generation wait.
struct LibcoroTree {
    std::uint64_t coroutines;
    std::uint64_t bytes;
};

/// libcoro's pool, whose threads share one queue; the calling thread waits.
class LibcoroPool {
public:
    explicit LibcoroPool(unsigned threads, std::function<void(std::size_t)> begins = nullptr)
        : pool_(made(threads, std::move(begins))) {}

    /// For a tree. Throws Unsupported where that would take half of the memory: the queue gives the oldest
    /// first, so that a tree unfolds generation by generation, and nearly all of it stands at once.
    /// Each thread calls `begins` with its number (0, 1 ...) first.
    LibcoroPool(unsigned threads, LibcoroTree tree, std::function<void(std::size_t)> begins = nullptr)
        : LibcoroPool(with_room_for(tree, threads), std::move(begins)) {}

    [[nodiscard]] coro::thread_pool& pool() noexcept { return *pool_; }

private:
    static unsigned with_room_for(LibcoroTree tree, unsigned threads) {
        require_memory(tree.coroutines, tree.bytes, "coroutines that may wait at once");
        return threads;
    }

    static std::unique_ptr<coro::thread_pool> made(unsigned threads,
                                                   std::function<void(std::size_t)> begins) {
        return coro::thread_pool::make_unique({.thread_count = threads,
                                               .on_thread_start_functor = std::move(begins),
                                               .on_thread_stop_functor = nullptr});
    }

    std::unique_ptr<coro::thread_pool> pool_;
};

}  // namespace toll
