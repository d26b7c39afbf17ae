#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, spinlock_test_and_set, toll::locks::TestAndSet);
