#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, vector_counting,
               toll::count_words::Linear<toll::count_words::Vector, toll::counting_allocator>);
