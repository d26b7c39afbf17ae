#include "workload.hpp"

TOLL_CONTENDER(reference, sum_4096, toll::operations::Sum4096);
