#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, sorted_vector, toll::count_words::Sorted<toll::count_words::Vector>);
