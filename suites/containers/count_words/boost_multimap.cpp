#include "boost_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, boost_multimap, toll::count_words::Keyed<toll::count_words::BoostMultimap>);
