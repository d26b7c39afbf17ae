#include "../shared/atomic_counters.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, compare_exchange, toll::contention::CompareExchange);
