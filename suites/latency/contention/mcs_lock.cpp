#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, mcs_lock, toll::contention::Locked<toll::locks::Mcs>);
