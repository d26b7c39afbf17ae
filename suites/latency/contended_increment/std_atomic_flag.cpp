#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_increment, std_atomic_flag, toll::contention::Locked<toll::locks::StdAtomicFlag>);
