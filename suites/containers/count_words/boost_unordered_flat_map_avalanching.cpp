#include "workload.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

template <template <class> class Allocator>
struct AvalanchingBoostUnorderedFlatMap {
    using type = boost::unordered_flat_map<std::string, int, toll::count_words::AvalanchingWordHash,
                                           std::equal_to<>, Allocator<toll::count_words::Node>>;
};

TOLL_CONTENDER(count_words, boost_unordered_flat_map_avalanching,
               toll::count_words::Keyed<AvalanchingBoostUnorderedFlatMap>);
