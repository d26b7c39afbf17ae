#include "workload.hpp"

TOLL_CONTENDER(reference, uncontended_lock, toll::operations::UncontendedLock);
