#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, std_counting_semaphore,
               toll::contention::Locked<toll::locks::StdCountingSemaphore>);
