#pragma once

#include "workload.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace toll::thread_start {

/// The pool of the textbooks: threads that wait on a condition variable for a queue of functions
/// (A. Williams, "C++ Concurrency in Action", 2nd edition, section 9.1.1, with a blocking queue).
class WaitingPool {
public:
    explicit WaitingPool(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) {
            threads_.emplace_back([this](const std::stop_token& stopping) { serve(stopping); });
        }
    }

    void submit(std::function<void()> task) {
        {
            const std::scoped_lock lock(mutex_);
            tasks_.push(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void serve(const std::stop_token& stopping) {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex_);
                if (!changed_.wait(lock, stopping, [this] { return !tasks_.empty(); })) { return; }
                task = std::move(tasks_.front());
                tasks_.pop();
            }
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;  // std::condition_variable knows no stop token
    std::queue<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;  // last: its threads end before the rest goes
};

/// A task at a time for whichever pool; `finish` sleeps until it is done, as joining a thread does.
template <class Pool>
class PooledTask {
public:
    static constexpr bool keeps_thread = true;

    void start(Arrival& arrival) {
        pool_.submit([this, &arrival] {
            arrival();
            done_.release();
        });
    }
    void finish() { done_.acquire(); }

private:
    std::binary_semaphore done_{0};  // outlives the pool's thread, which releases it
    Pool pool_{1};
};

}  // namespace toll::thread_start
