#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, std_atomic_flag, toll::contention::Locked<toll::locks::StdAtomicFlag>);
