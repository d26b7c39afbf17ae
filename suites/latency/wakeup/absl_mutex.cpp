#include "../shared/absl_locks.hpp"
#include "lock_signal.hpp"
#include "workload.hpp"

TOLL_CONTENDER(wakeup, absl_mutex, toll::wakeup::LockSignal<toll::locks::AbslMutex>);
