#include "../all_map_workloads.hpp"

#include <folly/container/F14Map.h>

struct FollyF14ValueMap {
    template <class Key>
    using type = folly::F14ValueMap<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(folly_f14_value_map, FollyF14ValueMap);
