#include "workload.hpp"

#include <barrier>

struct StdBarrier {
    std::barrier<> barrier{2};
    void raise() { (void)barrier.arrive(); }
    void wait() { barrier.arrive_and_wait(); }
};

TOLL_CONTENDER(wakeup, std_barrier, StdBarrier);
