#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, mcs_lock, toll::locks::Mcs);
