#include "document_pool.hpp"
#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(
    count_words, unordered_map_document_pool,
    toll::count_words::Keyed<toll::count_words::UnorderedMap, toll::count_words::document_pool_allocator>);
