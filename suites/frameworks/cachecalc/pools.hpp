#pragma once

// Thread pools; made once, as a program does, where a contender does not say otherwise. A pool offers
// `post(function)`; its destructor ends it.

#include "countdown.hpp"
#include "waiting.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <stop_token>
#include <thread>
#include <vector>

namespace toll::cachecalc {

/// A queue of std::function behind a mutex and a condition variable, ended by a flag: what most people write
/// first.
class SimplePool {
public:
    explicit SimplePool(unsigned threads) {
        try {
            for (unsigned i = 0; i < threads; ++i) {
                threads_.emplace_back([this] { work(); });
            }
        } catch (...) {  // a machine that is out of threads: those that exist must be joined
            end();
            throw;
        }
    }
    SimplePool(const SimplePool&) = delete;
    SimplePool& operator=(const SimplePool&) = delete;
    ~SimplePool() { end(); }

    void post(std::function<void()> task) {
        {
            const std::scoped_lock lock{mutex_};
            tasks_.push(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void end() {
        {
            const std::scoped_lock lock{mutex_};
            ended_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) { thread.join(); }
    }
    void work() {
        for (;;) {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
            if (tasks_.empty()) { return; }
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop();
            lock.unlock();
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<std::function<void()>> tasks_;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

/// The same with C++20's means: the stop token of a jthread ends the wait.
class StopTokenPool {
public:
    explicit StopTokenPool(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) {
            threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
        }
    }

    void post(std::function<void()> task) {
        {
            const std::scoped_lock lock{mutex_};
            tasks_.push(std::move(task));
        }
        not_empty_.notify_one();
    }

private:
    void work(const std::stop_token& stop) {
        for (;;) {
            std::unique_lock lock{mutex_};
            if (!not_empty_.wait(lock, stop, [this] { return !tasks_.empty(); })) { return; }
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop();
            lock.unlock();
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any not_empty_;
    std::queue<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;  // last: ended and joined before the queue goes
};

/// Posts every task to the pool and waits for the last one.
template <class Pool, class Task>
void post_all(Pool& pool, Task& run_task, Load& load) {
    Countdown left{load.tasks()};
    for (std::uint64_t task = 0; task < load.tasks(); ++task) {
        pool.post([&run_task, &load, &left, task] {
            run_task(load, task);
            left.count_down();
        });
    }
    left.wait();
}

/// A pool that is made once.
template <class Pool, class Wait>
class Posted {
public:
    explicit Posted(const Inputs& inputs) : pool_(inputs.threads) {}

    void run(Load& load) { post_all(pool_, task_, load); }
    [[nodiscard]] Footing footing() const { return task_.footing(); }

private:
    BlockingTask<Wait> task_;
    Pool pool_;
};

/// A pool that is made for each iteration, and whose maker gives way in a loop until all tasks have ended,
/// both as the document's program has it. Most tasks are in the queue before its threads have started: none
/// of them is woken for a single task, which costs a pool that waits for them half as much again (9.9 ms
/// for 6.4 at 8 us, on 2 CPUs).
template <class Pool, class Wait>
class PostedToNew {
public:
    explicit PostedToNew(const Inputs& inputs) : threads_(inputs.threads) {}

    void run(Load& load) {
        std::atomic<std::uint64_t> ended{0};
        Pool pool(threads_);
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            pool.post([this, &load, &ended, task] {
                task_(load, task);
                ended.fetch_add(1, std::memory_order_release);
            });
        }
        while (ended.load(std::memory_order_acquire) < load.tasks()) { std::this_thread::yield(); }
    }
    [[nodiscard]] Footing footing() const { return task_.footing(); }

private:
    BlockingTask<Wait> task_;
    unsigned threads_;
};

}  // namespace toll::cachecalc
