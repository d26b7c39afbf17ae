#include "../all_map_workloads.hpp"

#include <tsl/robin_map.h>

struct TslRobinMap {
    template <class Key>
    using type = tsl::robin_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(tsl_robin_map, TslRobinMap);
