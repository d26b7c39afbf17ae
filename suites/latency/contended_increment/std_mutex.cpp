#include "../shared/std_locks.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contended_increment, std_mutex, toll::contention::Locked<toll::locks::StdMutex>);
