#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, map, toll::count_words::Keyed<toll::count_words::Map>);
