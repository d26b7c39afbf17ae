#include "pmr_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, unordered_map_pmr_pool,
               toll::count_words::Pooled<toll::count_words::PmrUnorderedMap>);
