#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_round, std_atomic_flag, toll::contention::LockedAsAsked<toll::locks::StdAtomicFlag>);
