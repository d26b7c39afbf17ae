#include "../shared/atomic_counters.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_round, fetch_add, toll::contention::FetchAddAsAsked);
