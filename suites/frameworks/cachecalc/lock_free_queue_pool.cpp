#include "pools.hpp"

#include <concurrentqueue/blockingconcurrentqueue.h>

/// moodycamel's queue in its blocking form: threads that find it empty spin for 10,000 rounds, as it comes,
/// then sleep on its semaphore.
class LockFreeQueuePool {
public:
    explicit LockFreeQueuePool(unsigned threads) {
        try {
            for (unsigned i = 0; i < threads; ++i) {
                threads_.emplace_back([this] {
                    for (std::function<void()> task; tasks_.wait_dequeue(task), task;) { task(); }
                });
            }
        } catch (...) {  // a machine that is out of threads: those that exist must be joined
            end();
            throw;
        }
    }
    LockFreeQueuePool(const LockFreeQueuePool&) = delete;
    LockFreeQueuePool& operator=(const LockFreeQueuePool&) = delete;
    ~LockFreeQueuePool() { end(); }

    void post(std::function<void()> task) { tasks_.enqueue(std::move(task)); }

private:
    void end() {
        for (std::size_t i = 0; i < threads_.size(); ++i) { tasks_.enqueue(nullptr); }  // one ends one thread
        for (std::thread& thread : threads_) { thread.join(); }
    }

    moodycamel::BlockingConcurrentQueue<std::function<void()>> tasks_;
    std::vector<std::thread> threads_;
};

using LockFreeQueue = toll::cachecalc::Posted<LockFreeQueuePool, toll::cachecalc::Sleep>;

TOLL_CONTENDER(cachecalc, lock_free_queue_pool, LockFreeQueue);
