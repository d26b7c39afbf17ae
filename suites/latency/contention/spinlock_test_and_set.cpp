#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, spinlock_test_and_set, toll::contention::Locked<toll::locks::TestAndSet>);
