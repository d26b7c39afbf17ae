#include "workload.hpp"

#include <boost/container/devector.hpp>

template <template <class> class Allocator>
struct BoostDevector {
    using type = boost::container::devector<toll::count_words::Pair, Allocator<toll::count_words::Pair>>;
};

TOLL_CONTENDER(count_words, boost_devector, toll::count_words::Linear<BoostDevector>);
