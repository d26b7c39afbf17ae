#include "../all_map_workloads.hpp"

#include <absl/container/node_hash_map.h>

struct AbslNodeHashMap {
    template <class Key>
    using type = absl::node_hash_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(absl_node_hash_map, AbslNodeHashMap);
