#include "pmr_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, map_pmr_pool, toll::count_words::Pooled<toll::count_words::PmrMap>);
