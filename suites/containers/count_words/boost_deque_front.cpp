#include "boost_containers.hpp"
#include "workload.hpp"

TOLL_CONTENDER(count_words, boost_deque_front, toll::count_words::Linear<toll::count_words::BoostDequeFront>);
