#include "workload.hpp"

#include <tsl/robin_map.h>

template <template <class> class Allocator>
struct TslRobinMap {
    using type = tsl::robin_map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                Allocator<toll::count_words::Pair>>;
};

TOLL_CONTENDER(count_words, tsl_robin_map, toll::count_words::Keyed<TslRobinMap>);
