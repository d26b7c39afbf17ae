#include "../shared/atomic_counters.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_increment, fetch_add, toll::contention::FetchAdd);
