#include "bells.hpp"
#include "both.hpp"
#include "ring.hpp"

/// As ring_futex, but it sleeps on an eventfd.
using RingEventfd = toll::ipc::RingChannel<toll::ipc::EventfdBell>;

TOLL_IPC_CONTENDER(ring_eventfd, RingEventfd);
