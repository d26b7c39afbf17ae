#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, multimap, toll::count_words::Keyed<toll::count_words::Multimap>);
