#include "workload.hpp"

TOLL_CONTENDER(reference, memory_bound, toll::operations::MemoryBound);
