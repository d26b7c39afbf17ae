#include "../shared/posix_locks.hpp"
#include "workload.hpp"

struct PthreadConditionVariable {
    toll::locks::PthreadMutex mutex;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    bool raised = false;
    ~PthreadConditionVariable() { pthread_cond_destroy(&condition); }
    void raise() {
        mutex.lock();
        raised = true;
        mutex.unlock();
        pthread_cond_signal(&condition);
    }
    void wait() {
        mutex.lock();
        while (!raised) { pthread_cond_wait(&condition, mutex.native_handle()); }
        raised = false;
        mutex.unlock();
    }
};

TOLL_CONTENDER(wakeup, pthread_condition_variable, PthreadConditionVariable);
