#include "../shared/posix_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, pthread_mutex, toll::locks::PthreadMutex);
