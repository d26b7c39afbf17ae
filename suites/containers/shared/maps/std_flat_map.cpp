#include "../all_map_workloads.hpp"

#include <flat_map>
#include <type_traits>
#include <utility>

struct StdFlatMap {
    static constexpr bool moves_half = true;
    template <class Key>
    using type = std::flat_map<Key, toll::maps::Value, std::less<>>;
    static void take(auto& map, const auto& sorted) {
        // Not by insert(sorted_unique, ...): libstdc++'s adds one after the other and keeps up to twice the
        // room.
        using Map = std::remove_reference_t<decltype(map)>;
        typename Map::key_container_type keys;
        typename Map::mapped_container_type values;
        keys.reserve(sorted.size());
        values.reserve(sorted.size());
        for (const auto& [key, value] : sorted) {
            keys.push_back(key);
            values.push_back(value);
        }
        map.replace(std::move(keys), std::move(values));
    }
};

TOLL_MAP_CONTENDER(std_flat_map, StdFlatMap);
