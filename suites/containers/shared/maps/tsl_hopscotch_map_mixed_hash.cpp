#include "../all_map_workloads.hpp"

#include <tsl/hopscotch_map.h>

struct TslHopscotchMapMixedHash {
    template <class Key>
    using type =
        tsl::hopscotch_map<Key, toll::maps::Value, toll::maps::AvalanchingHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(tsl_hopscotch_map_mixed_hash, TslHopscotchMapMixedHash);
