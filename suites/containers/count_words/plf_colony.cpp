#include "workload.hpp"

#include <plf_colony.h>

template <template <class> class Allocator>
struct PlfColony {
    using type = plf::colony<toll::count_words::Pair, Allocator<toll::count_words::Pair>>;
};

TOLL_CONTENDER(count_words, plf_colony, toll::count_words::Linear<PlfColony>);
