#include "../all_map_workloads.hpp"

#include <absl/container/btree_map.h>
#include <absl/strings/string_view.h>

/// With its own comparison: with std::less<> it searches its nodes another way, and compares a text twice.
struct AbslBtreeMap {
    using View = absl::string_view;  // not always the standard one, and all that the comparison takes
    template <class Key>
    using type = absl::btree_map<Key, toll::maps::Value>;
};

TOLL_MAP_CONTENDER(absl_btree_map, AbslBtreeMap);
