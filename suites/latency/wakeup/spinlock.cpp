#include "workload.hpp"

/// Test-and-test-and-set with a pause: spins on a shared copy of the line, and writes only when it looks
/// free.
struct Spinlock {
    static constexpr bool never_sleeps = true;
    std::atomic<bool> locked{false};
    void lock() {
        while (locked.exchange(true, std::memory_order_acquire)) {
            while (locked.load(std::memory_order_relaxed)) { toll::cpu_relax(); }
        }
    }
    void unlock() { locked.store(false, std::memory_order_release); }
    void arm() { lock(); }
    void raise() { unlock(); }
    void wait() { lock(); }
    void disarm() { unlock(); }
};

TOLL_CONTENDER(wakeup, spinlock, Spinlock);
