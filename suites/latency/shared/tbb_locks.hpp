// oneTBB's locks. All are headers alone but for how a thread sleeps, and come with a scoped_lock, which Held
// takes.
#pragma once

// Until oneTBB 2021.6 the two that sleep were a preview, which has to be asked for.
#ifndef TBB_PREVIEW_MUTEXES
#define TBB_PREVIEW_MUTEXES 1  // NOLINT(cppcoreguidelines-macro-usage) the library's switch
#endif

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>

namespace toll::locks {

/// Spins for a while, then sleeps in the kernel: the library's general one.
using TbbMutex = tbb::mutex;

/// The same for readers and writers; writers first.
using TbbRwMutex = tbb::rw_mutex;

/// Test-and-set with exponential back-off, then yields.
using TbbSpinMutex = tbb::spin_mutex;

/// A queue of nodes, as the MCS lock; owners in order of arrival.
using TbbQueuingMutex = tbb::queuing_mutex;

}  // namespace toll::locks
