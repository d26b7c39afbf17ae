// Abseil's lock.
#pragma once

#include "seen_by_sanitizer.hpp"

#include <absl/synchronization/mutex.h>

namespace toll::locks {

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

private:
    absl::Mutex mutex_;
};

}  // namespace toll::locks
