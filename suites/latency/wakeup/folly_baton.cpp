#include "workload.hpp"

#include <folly/synchronization/Baton.h>

struct FollyBaton {
    folly::Baton<> baton;  // looks for two microseconds before it sleeps, unless told otherwise
    void arm() { baton.reset(); }
    void raise() { baton.post(); }
    void wait() { baton.wait(); }
};

TOLL_CONTENDER(wakeup, folly_baton, FollyBaton);
