#include "../shared/posix_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, pthread_spinlock, toll::contention::Locked<toll::locks::PthreadSpinlock>);
