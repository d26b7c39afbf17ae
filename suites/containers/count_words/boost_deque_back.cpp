#include "boost_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, boost_deque_back, toll::count_words::Linear<toll::count_words::BoostDequeBack>);
