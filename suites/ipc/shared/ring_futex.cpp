#include "both.hpp"
#include "ring.hpp"

/// Who waits says so and sleeps at once; who writes asks the kernel to wake somebody only then.
using RingFutex = toll::ipc::RingChannel<toll::ipc::FutexBell>;

TOLL_IPC_CONTENDER(ring_futex, RingFutex);
