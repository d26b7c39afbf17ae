#include "workload.hpp"

#include <parallel_hashmap/phmap.h>

template <template <class> class Allocator>
struct PhmapNodeHashMap {
    using type = phmap::node_hash_map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                      Allocator<toll::count_words::Node>>;
};

TOLL_CONTENDER(count_words, phmap_node_hash_map, toll::count_words::Keyed<PhmapNodeHashMap>);
