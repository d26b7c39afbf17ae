#include "lock_signal.hpp"
#include "workload.hpp"

/// The spinlock of the document's program: it looks until the lock seems free, then takes it by
/// test_and_set until it has it, without a pause, and tells a waiter that nobody is of each release.
class NotifyingSpinlock {
public:
    void lock() noexcept {
        while (locked_.test(std::memory_order_relaxed)) {}
        while (locked_.test_and_set(std::memory_order_acquire)) {}
    }
    void unlock() noexcept {
        locked_.clear(std::memory_order_release);
        locked_.notify_one();
    }

private:
    std::atomic_flag locked_;
};

TOLL_CONTENDER(wakeup, spinlock_notifying, toll::wakeup::SpinlockSignal<NotifyingSpinlock>);
