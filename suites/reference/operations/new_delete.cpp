#include "workload.hpp"

TOLL_CONTENDER(reference, new_delete, toll::operations::NewDelete);
