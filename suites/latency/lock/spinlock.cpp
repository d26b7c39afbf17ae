#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, spinlock, toll::locks::TestAndTestAndSet);
