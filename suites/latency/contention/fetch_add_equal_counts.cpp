#include "../shared/atomic_counters.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, fetch_add_equal_counts, toll::contention::FetchAddAsAsked);
