#include "workload.hpp"

#include <shared_mutex>

using StdSharedMutex = toll::read_mostly::Guarded<std::shared_mutex>;

TOLL_CONTENDER(read_mostly, std_shared_mutex, StdSharedMutex);
