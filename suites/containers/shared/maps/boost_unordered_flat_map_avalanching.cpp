#include "../all_map_workloads.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

struct BoostUnorderedFlatMapAvalanching {
    template <class Key>
    using type =
        boost::unordered_flat_map<Key, toll::maps::Value, toll::maps::AvalanchingHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(boost_unordered_flat_map_avalanching, BoostUnorderedFlatMapAvalanching);
