#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(lock, std_binary_semaphore, toll::locks::StdBinarySemaphore);
