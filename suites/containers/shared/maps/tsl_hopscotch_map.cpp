#include "../all_map_workloads.hpp"

#include <tsl/hopscotch_map.h>

struct TslHopscotchMap {
    template <class Key>
    using type = tsl::hopscotch_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(tsl_hopscotch_map, TslHopscotchMap);
