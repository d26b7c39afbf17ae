#include "../all_map_workloads.hpp"

#include <absl/container/flat_hash_map.h>

struct AbslFlatHashMap {
    template <class Key>
    using type = absl::flat_hash_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(absl_flat_hash_map, AbslFlatHashMap);
