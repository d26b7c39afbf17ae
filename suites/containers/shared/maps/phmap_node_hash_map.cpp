#include "../all_map_workloads.hpp"

#include <parallel_hashmap/phmap.h>

struct PhmapNodeHashMap {
    template <class Key>
    using type = phmap::node_hash_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(phmap_node_hash_map, PhmapNodeHashMap);
