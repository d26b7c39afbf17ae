#include "pmr_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, unordered_map_pmr_monotonic,
               toll::count_words::Monotonic<toll::count_words::PmrUnorderedMap>);
