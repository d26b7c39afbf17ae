#include "workload.hpp"

#include <folly/container/F14Map.h>

template <template <class> class Allocator>
struct FollyF14ValueMap {
    using type = folly::F14ValueMap<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                    Allocator<toll::count_words::Node>>;
    // clear() would free a table of 16 chunks or more; this keeps it for the next fill.
    static void clear(type& map) { map.erase(map.begin(), map.end()); }
};

TOLL_CONTENDER(count_words, folly_f14_value_map, toll::count_words::Keyed<FollyF14ValueMap>);
