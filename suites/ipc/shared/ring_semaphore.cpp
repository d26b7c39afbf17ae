#include "bells.hpp"
#include "both.hpp"
#include "ring.hpp"

/// As ring_futex, but it sleeps on a process-shared semaphore.
using RingSemaphore = toll::ipc::RingChannel<toll::ipc::SemaphoreBell>;

TOLL_IPC_CONTENDER(ring_semaphore, RingSemaphore);
