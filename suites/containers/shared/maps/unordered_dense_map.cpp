#include "../all_map_workloads.hpp"

#include <ankerl/unordered_dense.h>

struct UnorderedDenseMap {
    template <class Key>
    using type =
        ankerl::unordered_dense::map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(unordered_dense_map, UnorderedDenseMap);
