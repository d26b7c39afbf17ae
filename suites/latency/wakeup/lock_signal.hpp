#pragma once

#include "../shared/lock_concept.hpp"

namespace toll::wakeup {

/// A lock as a signal: the waiter wants what the other thread holds, and is signalled by its release.
template <locks::PlainLock L>
struct LockSignal {
    L held;
    void arm() { held.lock(); }
    void raise() { held.unlock(); }
    void wait() { held.lock(); }
    void disarm() { held.unlock(); }
};

/// The same with a lock that spins for as long as it waits.
template <locks::PlainLock L>
struct SpinlockSignal : LockSignal<L> {
    static constexpr bool never_sleeps = true;
};

}  // namespace toll::wakeup
