#include "../shared/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, ticket_lock, toll::locks::Ticket);
