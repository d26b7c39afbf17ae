#include "../shared/posix_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, pthread_adaptive_mutex,
               toll::contention::Locked<toll::locks::PthreadAdaptiveMutex>);
