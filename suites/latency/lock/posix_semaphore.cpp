#include "../shared/posix_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, posix_semaphore, toll::locks::PosixSemaphore);
