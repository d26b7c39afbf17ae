#include "../shared/concurrency_kit_locks.hpp"
#include "workload.hpp"

using ConcurrencyKitRwlock = toll::read_mostly::Guarded<toll::locks::ConcurrencyKitRwlock>;

TOLL_CONTENDER(read_mostly, concurrency_kit_rwlock, ConcurrencyKitRwlock);
