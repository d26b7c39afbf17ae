// Abseil's lock.
#pragma once

#include "seen_by_sanitizer.hpp"

#include <absl/synchronization/mutex.h>

namespace toll::locks {

/// Has Abseil look for no deadlocks, as long as the process lives. Distributions build it without NDEBUG,
/// where each lock searches the graph of all that were ever held: on Debian 12 a lock and its unlock took 50
/// ns, and 12 without. A release build of Abseil has no such search.
struct NoDeadlockSearch {
    NoDeadlockSearch() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }
};

/// absl::Mutex under the standard's names. It spins for a while, then sleeps; it is fair only in that nobody
/// waits for ever. Distributions build its library without thread-sanitizer.
class AbslMutex {
public:
    void lock() {
        mutex_.Lock();
        tell_acquired(&mutex_);
    }
    void unlock() {
        tell_release(&mutex_);
        mutex_.Unlock();
    }

protected:
    [[no_unique_address]] NoDeadlockSearch off_;
    absl::Mutex mutex_;
};

/// The same, shared by readers.
class AbslSharedMutex : public AbslMutex {
public:
    void lock_shared() {
        mutex_.ReaderLock();
        tell_acquired(&mutex_);
    }
    void unlock_shared() {
        tell_release(&mutex_);
        mutex_.ReaderUnlock();
    }
};

}  // namespace toll::locks
