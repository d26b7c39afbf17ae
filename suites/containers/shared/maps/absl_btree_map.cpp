#include "../all_map_workloads.hpp"

#include <absl/container/btree_map.h>

struct AbslBtreeMap {
    template <class Key>
    using type = absl::btree_map<Key, toll::maps::Value, std::less<>>;
};

TOLL_MAP_CONTENDER(absl_btree_map, AbslBtreeMap);
