#include "../shared/spinlocks.hpp"
#include "lock_signal.hpp"
#include "workload.hpp"

TOLL_CONTENDER(wakeup, spinlock_test_and_set, toll::wakeup::SpinlockSignal<toll::locks::TestAndSet>);
