#include "standard.hpp"
#include "workload.hpp"

#include <toll/pool_allocator.hpp>

TOLL_CONTENDER(count_words, unordered_map_pool,
               toll::count_words::Keyed<toll::count_words::UnorderedMap, toll::pool_allocator>);
