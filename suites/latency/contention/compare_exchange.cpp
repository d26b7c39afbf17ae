#include "atomics.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, compare_exchange, toll::contention::CompareExchange);
