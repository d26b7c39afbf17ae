#include "../all_map_workloads.hpp"

#include <boost/container/flat_map.hpp>

struct BoostFlatMap {
    static constexpr bool moves_half = true;
    template <class Key>
    using type = boost::container::flat_map<Key, toll::maps::Value, std::less<>>;
    static void take(auto& map, const auto& sorted) {
        map.reserve(sorted.size());
        map.insert(boost::container::ordered_unique_range, sorted.begin(), sorted.end());
    }
};

TOLL_MAP_CONTENDER(boost_flat_map, BoostFlatMap);
