#include "workload.hpp"

#include <boost/unordered/unordered_node_map.hpp>

template <template <class> class Allocator>
struct AvalanchingBoostUnorderedNodeMap {
    using type = boost::unordered_node_map<std::string, int, toll::count_words::AvalanchingWordHash,
                                           std::equal_to<>, Allocator<toll::count_words::Node>>;
};

TOLL_CONTENDER(count_words, boost_unordered_node_map_avalanching,
               toll::count_words::Keyed<AvalanchingBoostUnorderedNodeMap>);
