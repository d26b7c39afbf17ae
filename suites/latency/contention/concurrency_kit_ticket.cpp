#include "../shared/concurrency_kit_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, concurrency_kit_ticket,
               toll::contention::Locked<toll::locks::ConcurrencyKitTicket>);
