#include "workload.hpp"

#include <folly/container/F14Map.h>

template <template <class> class Allocator>
struct FollyF14NodeMap {
    using type = folly::F14NodeMap<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                   Allocator<toll::count_words::Node>>;
};

TOLL_CONTENDER(count_words, folly_f14_node_map, toll::count_words::Keyed<FollyF14NodeMap>);
