#include "../all_map_workloads.hpp"

#include <unordered_map>

struct UnorderedMap {
    template <class Key>
    using type = std::unordered_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(unordered_map, UnorderedMap);
