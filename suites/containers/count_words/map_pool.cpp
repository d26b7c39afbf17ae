#include "standard.hpp"
#include "workload.hpp"

#include <toll/pool_allocator.hpp>

TOLL_CONTENDER(count_words, map_pool, toll::count_words::Keyed<toll::count_words::Map, toll::pool_allocator>);
