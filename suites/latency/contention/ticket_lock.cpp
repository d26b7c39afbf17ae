#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, ticket_lock, toll::contention::Locked<toll::locks::Ticket>);
