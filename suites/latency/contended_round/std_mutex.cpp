#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_round, std_mutex, toll::contention::LockedAsAsked<toll::locks::StdMutex>);
