#include "../shared/atomic_counters.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_increment, compare_exchange, toll::contention::CompareExchange);
