#include "workload.hpp"

#include <parallel_hashmap/phmap.h>

template <template <class> class Allocator>
struct PhmapFlatHashMap {
    using type = phmap::flat_hash_map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                      Allocator<toll::count_words::Node>>;
    // Until September 2023 clear() freed a table of more than 127 slots; this keeps it for the next fill.
    static void clear(type& map) { map.erase(map.begin(), map.end()); }
};

TOLL_CONTENDER(count_words, phmap_flat_hash_map, toll::count_words::Keyed<PhmapFlatHashMap>);
