#pragma once

#include <start_tasks.h>
#include <thread_pool.h>
#include <wait_tasks.h>

namespace toll {

/// coros' pool, which steals work; the calling thread waits.
class CorosPool {
public:
    explicit CorosPool(unsigned threads) : pool_(static_cast<int>(threads)) {}

    /// What `task` returns, which a thread of the pool begins.
    template <class Result>
    Result execute(coros::Task<Result> task) {
        coros::start_sync(pool_, task);
        return task.value();
    }

private:
    coros::ThreadPool pool_;
};

}  // namespace toll
