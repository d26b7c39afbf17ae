#include "workload.hpp"

#include <mutex>

/// Readers exclude each other too.
using StdMutex = toll::read_mostly::Guarded<std::mutex>;

TOLL_CONTENDER(read_mostly, std_mutex, StdMutex);
