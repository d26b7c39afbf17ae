#pragma once

// Threads that nobody joins, and the channel through which they send their sums.

#include "spawning.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace toll::skynet {

/// A queue of bounded length between threads. What a push does to the channel it does under the lock, which
/// the receiver of the last value needs: it may destroy the channel as soon as it has it.
class ThreadChannel {
public:
    explicit ThreadChannel(std::size_t capacity) : ring_(capacity) {}
    ThreadChannel(const ThreadChannel&) = delete;
    ThreadChannel& operator=(const ThreadChannel&) = delete;

    void push(std::uint64_t value) {
        std::unique_lock lock{mutex_};
        not_full_.wait(lock, [this] { return held_ < ring_.size(); });
        ring_[(first_ + held_++) % ring_.size()] = value;
        not_empty_.notify_one();
    }

    std::uint64_t value_pop() {
        std::unique_lock lock{mutex_};
        not_empty_.wait(lock, [this] { return held_ > 0; });
        const std::uint64_t value = ring_[first_];
        first_ = (first_ + 1) % ring_.size();
        --held_;
        not_full_.notify_one();
        return value;
    }

private:
    std::mutex mutex_;
    std::condition_variable not_full_;
    std::condition_variable not_empty_;
    std::vector<std::uint64_t> ring_;
    std::size_t first_ = 0;
    std::size_t held_ = 0;
};

template <class Source>
using DetachedThreadTree = DetachedTree<Source, ThreadChannel>;

}  // namespace toll::skynet
