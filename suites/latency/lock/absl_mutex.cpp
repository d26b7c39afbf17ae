#include "../shared/absl_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, absl_mutex, toll::locks::AbslMutex);
