#include "../shared/tbb_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, tbb_mutex, toll::locks::TbbMutex);
