#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, spinlock, toll::contention::Locked<toll::locks::TestAndTestAndSet>);
