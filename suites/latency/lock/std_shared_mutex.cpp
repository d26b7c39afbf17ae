#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, std_shared_mutex, toll::locks::StdSharedMutex);
