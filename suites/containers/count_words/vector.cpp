#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, vector, toll::count_words::Linear<toll::count_words::Vector>);
