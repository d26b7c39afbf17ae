#include "document_pool.hpp"
#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, map_document_pool,
               toll::count_words::Keyed<toll::count_words::Map, toll::count_words::document_pool_allocator>);
