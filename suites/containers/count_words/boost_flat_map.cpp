#include "boost_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, boost_flat_map, toll::count_words::Keyed<toll::count_words::BoostFlatMap>);
