#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, std_mutex_equal_counts, toll::contention::LockedAsAsked<toll::locks::StdMutex>);
