#include "workload.hpp"

TOLL_CONTENDER(reference, hash_map_lookup, toll::operations::HashMapLookUp);
