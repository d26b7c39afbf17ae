#include "../shared/absl_locks.hpp"
#include "workload.hpp"

using AbslMutex = toll::read_mostly::Guarded<toll::locks::AbslSharedMutex>;

TOLL_CONTENDER(read_mostly, absl_mutex, AbslMutex);
