#pragma once

// For the contenders of all map workloads.

#include "../map_erase/workload.hpp"
#include "../map_insert/workload.hpp"
#include "../map_iterate/workload.hpp"
#include "../map_lookup/workload.hpp"

/// Offers the family `type` as the contender `name` of each map workload.
#define TOLL_MAP_CONTENDER(name, type)      \
    TOLL_CONTENDER(map_lookup, name, type); \
    TOLL_CONTENDER(map_insert, name, type); \
    TOLL_CONTENDER(map_erase, name, type);  \
    TOLL_CONTENDER(map_iterate, name, type)
