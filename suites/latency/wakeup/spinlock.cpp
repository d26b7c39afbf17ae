#include "../shared/spinlocks.hpp"
#include "lock_signal.hpp"
#include "workload.hpp"

TOLL_CONTENDER(wakeup, spinlock, toll::wakeup::SpinlockSignal<toll::locks::TestAndTestAndSet>);
