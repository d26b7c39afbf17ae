#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, std_atomic_flag, toll::locks::StdAtomicFlag);
