#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, unordered_map_counting,
               toll::count_words::Keyed<toll::count_words::UnorderedMap, toll::counting_allocator>);
