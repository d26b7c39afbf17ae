#include "workload.hpp"

#include <absl/container/flat_hash_map.h>

template <template <class> class Allocator>
struct AbslFlatHashMap {
    using type = absl::flat_hash_map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                     Allocator<toll::count_words::Node>>;
    // clear() would free a table of more than 127 slots; this keeps it for the next fill, as documented.
    static void clear(type& map) { map.erase(map.begin(), map.end()); }
};

TOLL_CONTENDER(count_words, absl_flat_hash_map, toll::count_words::Keyed<AbslFlatHashMap>);
