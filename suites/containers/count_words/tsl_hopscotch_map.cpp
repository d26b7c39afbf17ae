#include "workload.hpp"

#include <tsl/hopscotch_map.h>

template <template <class> class Allocator>
struct TslHopscotchMap {
    using type = tsl::hopscotch_map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                    Allocator<toll::count_words::Pair>>;
};

TOLL_CONTENDER(count_words, tsl_hopscotch_map, toll::count_words::Keyed<TslHopscotchMap>);
