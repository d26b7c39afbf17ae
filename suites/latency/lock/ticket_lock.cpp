#include "../locks/spinlocks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, ticket_lock, toll::locks::Ticket);
