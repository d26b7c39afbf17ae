#include "workload.hpp"

#include <absl/container/node_hash_map.h>
#include <absl/strings/string_view.h>

template <template <class> class Allocator>
struct AbslNodeHashMapOwnHash {
    using View = absl::string_view;  // not always the standard one
    using Default = absl::node_hash_map<std::string, int>;
    using type = absl::node_hash_map<std::string, int, Default::hasher, Default::key_equal,
                                     Allocator<toll::count_words::Node>>;
    // clear() would free a table of more than 127 slots; this keeps it for the next fill, as documented.
    static void clear(type& map) { map.erase(map.begin(), map.end()); }
};

TOLL_CONTENDER(count_words, absl_node_hash_map_own_hash, toll::count_words::Keyed<AbslNodeHashMapOwnHash>);
