#include "workload.hpp"

struct StdAtomicFlag {
    std::atomic_flag flag;
    void raise() {
        flag.test_and_set(std::memory_order_release);
        flag.notify_one();
    }
    void wait() { flag.wait(false, std::memory_order_acquire); }
    void disarm() { flag.clear(std::memory_order_relaxed); }
};

TOLL_CONTENDER(wakeup, std_atomic_flag, StdAtomicFlag);
