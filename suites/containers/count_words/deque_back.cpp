#include "standard.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, deque_back, toll::count_words::Linear<toll::count_words::DequeBack>);
