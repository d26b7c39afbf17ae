#include "workload.hpp"

TOLL_CONTENDER(reference, allocation_heavy, toll::operations::AllocationHeavy);
