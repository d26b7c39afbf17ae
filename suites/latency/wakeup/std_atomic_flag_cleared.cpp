#include "workload.hpp"

struct StdAtomicFlagCleared {
    std::atomic_flag flag;
    void arm() { flag.test_and_set(std::memory_order_relaxed); }
    void raise() {
        flag.clear(std::memory_order_release);
        flag.notify_one();
    }
    void wait() { flag.wait(true, std::memory_order_acquire); }
};

TOLL_CONTENDER(wakeup, std_atomic_flag_cleared, StdAtomicFlagCleared);
