#include "../shared/absl_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, absl_mutex, toll::contention::Locked<toll::locks::AbslMutex>);
