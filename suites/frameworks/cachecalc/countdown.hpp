#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace toll::cachecalc {

/// Waits until as many have ended as were announced. Not a std::latch: the waiter destroys this at once, and
/// a latch may still be notifying then. Here the last one notifies under the lock that the waiter needs.
class Countdown {
public:
    explicit Countdown(std::uint64_t count) : left_(count) {}

    void count_down() {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
        const std::scoped_lock lock{mutex_};
        ended_ = true;
        all_ended_.notify_one();
    }
    void wait() {
        std::unique_lock lock{mutex_};
        all_ended_.wait(lock, [this] { return ended_; });
    }

private:
    std::atomic<std::uint64_t> left_;
    std::mutex mutex_;
    std::condition_variable all_ended_;
    bool ended_ = false;
};

}  // namespace toll::cachecalc
