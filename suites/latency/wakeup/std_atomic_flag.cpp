#include "workload.hpp"

/// In the order that the document's program leaves to the library, sequentially consistent: on x86 the same
/// instructions as release and acquire would be.
struct StdAtomicFlag {
    std::atomic_flag flag;
    void raise() {
        flag.test_and_set();
        flag.notify_one();
    }
    void wait() { flag.wait(false); }
    void disarm() { flag.clear(std::memory_order_relaxed); }
};

TOLL_CONTENDER(wakeup, std_atomic_flag, StdAtomicFlag);
