#include "../shared/posix_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, pthread_adaptive_mutex, toll::locks::PthreadAdaptiveMutex);
