#include "workload.hpp"

#include <condition_variable>
#include <mutex>

struct StdConditionVariable {
    std::mutex mutex;
    std::condition_variable condition;
    bool raised = false;
    void raise() {
        {
            const std::scoped_lock lock{mutex};
            raised = true;
        }
        condition.notify_one();
    }
    void wait() {
        std::unique_lock lock{mutex};
        condition.wait(lock, [this] { return raised; });
        raised = false;
    }
};

TOLL_CONTENDER(wakeup, std_condition_variable, StdConditionVariable);
