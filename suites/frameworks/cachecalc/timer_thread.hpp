#pragma once

#include "workload.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace toll::cachecalc {

/// For runtimes that have no timers: a thread that sleeps until the next wait is over, and calls `resume`
/// with what waited.
template <class Waiter>
class TimerThread {
public:
    explicit TimerThread(std::function<void(Waiter)> resume) : resume_(std::move(resume)) {}

    void resume_after(std::chrono::microseconds wait, Waiter waiter) {
        const auto due = std::chrono::steady_clock::now() + wait;
        const std::scoped_lock lock{mutex_};
        const bool earliest = waiting_.empty() || due < waiting_.top().due;
        waiting_.push({due, waiter});
        if (earliest) { changed_.notify_one(); }
    }

private:
    struct Waiting {
        std::chrono::steady_clock::time_point due;
        Waiter waiter;
        bool operator>(const Waiting& other) const { return due > other.due; }
    };

    void work(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
            const Waiting next = waiting_.top();
            if (std::chrono::steady_clock::now() < next.due) {
                changed_.wait_until(lock, stop, next.due, [&] { return waiting_.top().due < next.due; });
                continue;
            }
            waiting_.pop();
            lock.unlock();  // a resumed task may wait again at once
            resume_(next.waiter);
            lock.lock();
        }
    }

    std::function<void(Waiter)> resume_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
    std::jthread thread_{[this](const std::stop_token& stop) { work(stop); }};  // last: sees the others made
};

}  // namespace toll::cachecalc
