#pragma once

#include <folly/coro/BlockingWait.h>
#include <folly/coro/Collect.h>
#include <folly/coro/CurrentExecutor.h>
#include <folly/coro/Task.h>
#include <folly/executors/CPUThreadPoolExecutor.h>
#include <folly/executors/thread_factory/InitThreadFactory.h>
#include <folly/executors/thread_factory/NamedThreadFactory.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace toll {

/// Folly's pool, whose threads share one queue; the calling thread waits. All threads exist from the
/// beginning: where one number is given, they are made when there is work for them.
///
/// collectAllTry begins each of its tasks in the thread that awaits it, so that a tree of tasks alone is made
/// by one thread, and nothing is queued (fib(24) in a sixth of the time, with two threads as with one). Each
/// task that others may make awaits co_reschedule_on_current_executor first, which puts it into the queue.
/// Handed to the pool by co_withExecutor, its end would be queued as well (1.8 times the time). collectAll
/// makes a source of cancellation for each call besides (1.3 to 2.0 times).
class FollyPool {
public:
    /// Each thread calls `begins` with its number (0, 1 ...) first.
    explicit FollyPool(unsigned threads, std::function<void(std::size_t)> begins = nullptr)
        : pool_(std::make_pair(std::size_t{threads}, std::size_t{threads}), factory(std::move(begins))) {}

    /// The task's result, or what it throws; it begins in the pool.
    template <class Result>
    Result execute(folly::coro::Task<Result> task) {
        return folly::coro::blockingWait(folly::coro::co_withExecutor(&pool_, std::move(task)));
    }

private:
    static std::shared_ptr<folly::ThreadFactory> factory(std::function<void(std::size_t)> begins) {
        auto named = std::make_shared<folly::NamedThreadFactory>("toll");
        if (!begins) { return named; }
        return std::make_shared<folly::InitThreadFactory>(
            std::move(named), [begins = std::move(begins),
                               made = std::make_shared<std::atomic<std::size_t>>(0)] { begins((*made)++); });
    }

    folly::CPUThreadPoolExecutor pool_;
};

}  // namespace toll
