#include "../shared/pool_allocator.hpp"
#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, map_pool, toll::count_words::Keyed<toll::count_words::Map, toll::pool_allocator>);
