#include "workload.hpp"

TOLL_CONTENDER(reference, atomic_add, toll::operations::AtomicAdd);
