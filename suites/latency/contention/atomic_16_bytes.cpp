#include "../shared/atomic_counters.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, atomic_16_bytes, toll::contention::SixteenBytes);
