#include "../all_map_workloads.hpp"

#include <boost/unordered/unordered_node_map.hpp>

struct BoostUnorderedNodeMap {
    template <class Key>
    using type = boost::unordered_node_map<Key, toll::maps::Value, toll::maps::StdHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(boost_unordered_node_map, BoostUnorderedNodeMap);
