#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, std_binary_semaphore, toll::contention::Locked<toll::locks::StdBinarySemaphore>);
