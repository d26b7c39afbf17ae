#include "../shared/concurrency_kit_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, concurrency_kit_fas, toll::contention::Locked<toll::locks::ConcurrencyKitFas>);
