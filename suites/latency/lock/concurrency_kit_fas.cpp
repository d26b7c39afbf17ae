#include "../shared/concurrency_kit_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, concurrency_kit_fas, toll::locks::ConcurrencyKitFas);
