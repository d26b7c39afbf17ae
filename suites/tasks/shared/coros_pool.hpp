#pragma once

#include <start_tasks.h>
#include <thread_pool.h>
#include <wait_tasks.h>

#include <exception>

namespace toll {

/// What an ended task returned; throws what it threw, which coros' own `value` does not, and of a task
/// without a result not even tells.
template <class Result>
Result result_of(coros::Task<Result>& task) {
    if (!task.has_value()) { std::rethrow_exception(task.error()); }
    return task.value();
}

/// coros' pool, which steals work; the calling thread waits.
class CorosPool {
public:
    explicit CorosPool(unsigned threads) : pool_(static_cast<int>(threads)) {}

    /// What `task` returns, which a thread of the pool begins; throws what it threw.
    template <class Result>
    Result execute(coros::Task<Result> task) {
        coros::start_sync(pool_, task);
        return result_of(task);
    }

private:
    coros::ThreadPool pool_;
};

}  // namespace toll
