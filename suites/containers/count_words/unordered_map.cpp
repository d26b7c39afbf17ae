#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, unordered_map, toll::count_words::Keyed<toll::count_words::UnorderedMap>);
