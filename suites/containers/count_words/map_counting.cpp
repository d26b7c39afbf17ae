#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, map_counting,
               toll::count_words::Keyed<toll::count_words::Map, toll::counting_allocator>);
