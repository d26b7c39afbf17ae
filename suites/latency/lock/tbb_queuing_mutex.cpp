#include "../shared/tbb_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, tbb_queuing_mutex, toll::locks::TbbQueuingMutex);
