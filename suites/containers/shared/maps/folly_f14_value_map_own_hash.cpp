#include "../all_map_workloads.hpp"

#include <folly/container/F14Map.h>

struct FollyF14ValueMapOwnHash {
    template <class Key>
    using type = folly::F14ValueMap<Key, toll::maps::Value>;
};

TOLL_MAP_CONTENDER(folly_f14_value_map_own_hash, FollyF14ValueMapOwnHash);
