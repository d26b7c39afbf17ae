#include "../all_map_workloads.hpp"

#include <map>

struct Map {
    template <class Key>
    using type = std::map<Key, toll::maps::Value, std::less<>>;
};

TOLL_MAP_CONTENDER(map, Map);
