#include "../all_map_workloads.hpp"

#include <tsl/robin_map.h>

struct TslRobinMapMixedHash {
    template <class Key>
    using type = tsl::robin_map<Key, toll::maps::Value, toll::maps::AvalanchingHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(tsl_robin_map_mixed_hash, TslRobinMapMixedHash);
