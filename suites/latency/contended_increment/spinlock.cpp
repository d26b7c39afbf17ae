#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_increment, spinlock, toll::contention::Locked<toll::locks::TestAndTestAndSet>);
