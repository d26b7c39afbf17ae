#include "../all_map_workloads.hpp"

#include <folly/container/F14Map.h>

struct FollyF14NodeMap {
    template <class Key>
    using type = folly::F14NodeMap<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(folly_f14_node_map, FollyF14NodeMap);
