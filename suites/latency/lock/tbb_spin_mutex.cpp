#include "../shared/tbb_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, tbb_spin_mutex, toll::locks::TbbSpinMutex);
