#include "../all_map_workloads.hpp"

#include <flat_map>

struct StdFlatMap {
    static constexpr bool moves_half = true;
    template <class Key>
    using type = std::flat_map<Key, toll::maps::Value, std::less<>>;
    static void take(auto& map, const auto& sorted) {
        map.insert(std::sorted_unique, sorted.begin(), sorted.end());
    }
};

TOLL_MAP_CONTENDER(std_flat_map, StdFlatMap);
