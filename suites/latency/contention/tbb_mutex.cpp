#include "../shared/tbb_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, tbb_mutex, toll::contention::Locked<toll::locks::TbbMutex>);
