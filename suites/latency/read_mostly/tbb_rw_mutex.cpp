#include "../shared/tbb_locks.hpp"
#include "workload.hpp"

using TbbRwMutex = toll::read_mostly::Guarded<toll::locks::TbbRwMutex>;

TOLL_CONTENDER(read_mostly, tbb_rw_mutex, TbbRwMutex);
