// oneTBB's locks. Both are headers alone and come with a scoped_lock, which Held takes.
#pragma once

#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/spin_mutex.h>

namespace toll::locks {

/// Test-and-set with exponential back-off, then yields.
using TbbSpinMutex = tbb::spin_mutex;

/// A queue of nodes, as the MCS lock; owners in order of arrival.
using TbbQueuingMutex = tbb::queuing_mutex;

}  // namespace toll::locks
