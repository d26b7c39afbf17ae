#include "workload.hpp"

TOLL_CONTENDER(reference, tree_lookup, toll::operations::TreeLookUp);
