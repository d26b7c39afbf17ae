#include "../all_map_workloads.hpp"

#include <ankerl/unordered_dense.h>

// The library's own hash, of texts also by a view.
template <class Key>
struct OwnHash : ankerl::unordered_dense::hash<Key> {};
template <>
struct OwnHash<toll::maps::Text> : ankerl::unordered_dense::hash<std::string_view> {
    using is_transparent = void;
};

struct UnorderedDenseMapOwnHash {
    template <class Key>
    using type = ankerl::unordered_dense::map<Key, toll::maps::Value, OwnHash<Key>, std::equal_to<>>;
};

TOLL_MAP_CONTENDER(unordered_dense_map_own_hash, UnorderedDenseMapOwnHash);
