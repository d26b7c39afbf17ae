#include "../shared/tbb_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, tbb_spin_mutex, toll::contention::Locked<toll::locks::TbbSpinMutex>);
