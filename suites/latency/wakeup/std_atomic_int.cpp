#include "workload.hpp"

struct StdAtomicInt {
    std::atomic<int> raised{0};
    void raise() {
        raised.store(1, std::memory_order_release);
        raised.notify_one();
    }
    void wait() { raised.wait(0, std::memory_order_acquire); }
    void disarm() { raised.store(0, std::memory_order_relaxed); }
    [[nodiscard]] static toll::Footing footing() {
        return {{"lock_free", std::atomic<int>::is_always_lock_free ? "always" : "asks"}};
    }
};

TOLL_CONTENDER(wakeup, std_atomic_int, StdAtomicInt);
