#include "workload.hpp"

#include <ankerl/unordered_dense.h>

template <template <class> class Allocator>
struct UnorderedDenseMap {
    using type = ankerl::unordered_dense::map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                              Allocator<toll::count_words::Pair>>;
};

TOLL_CONTENDER(count_words, unordered_dense_map, toll::count_words::Keyed<UnorderedDenseMap>);
