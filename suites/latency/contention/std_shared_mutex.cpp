#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, std_shared_mutex, toll::contention::Locked<toll::locks::StdSharedMutex>);
