#include "workload.hpp"

#include <mutex>

struct StdMutex {
    std::mutex mutex;
    void arm() { mutex.lock(); }
    void raise() { mutex.unlock(); }
    void wait() { mutex.lock(); }
    void disarm() { mutex.unlock(); }
};

TOLL_CONTENDER(wakeup, std_mutex, StdMutex);
