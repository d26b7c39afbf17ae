// expect: wait
// expect: Signal
#include "workload.hpp"
struct NoWait {
    void raise() {}
};
TOLL_CONTENDER(strict, no_wait, NoWait);
