#include "workload.hpp"

TOLL_CONTENDER(reference, sort_512, toll::operations::Sort512);
