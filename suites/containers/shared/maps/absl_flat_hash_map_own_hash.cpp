#include "../all_map_workloads.hpp"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

struct AbslFlatHashMapOwnHash {
    using View = absl::string_view;  // not always the standard one, and all that the hash takes
    template <class Key>
    using type = absl::flat_hash_map<Key, toll::maps::Value>;
};

TOLL_MAP_CONTENDER(absl_flat_hash_map_own_hash, AbslFlatHashMapOwnHash);
