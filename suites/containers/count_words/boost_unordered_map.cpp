#include "workload.hpp"

#include <boost/unordered_map.hpp>

template <template <class> class Allocator>
struct BoostUnorderedMap {
    using type = boost::unordered_map<std::string, int, toll::count_words::WordHash, std::equal_to<>,
                                      Allocator<toll::count_words::Node>>;
};

TOLL_CONTENDER(count_words, boost_unordered_map, toll::count_words::Keyed<BoostUnorderedMap>);
