#include "workload.hpp"

#include <oneapi/tbb/spin_rw_mutex.h>

using TbbSpinRwMutex = toll::read_mostly::Guarded<tbb::spin_rw_mutex>;

TOLL_CONTENDER(read_mostly, tbb_spin_rw_mutex, TbbSpinRwMutex);
