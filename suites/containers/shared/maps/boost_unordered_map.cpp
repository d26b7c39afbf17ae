#include "../all_map_workloads.hpp"

#include <boost/unordered_map.hpp>

struct BoostUnorderedMap {
    template <class Key>
    using type = boost::unordered_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(boost_unordered_map, BoostUnorderedMap);
