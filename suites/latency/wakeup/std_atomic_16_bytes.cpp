#include "workload.hpp"

/// Wider than what a futex can watch, so that the library waits on a proxy.
struct SixteenBytes {
    alignas(16) std::uint64_t raised = 0;
    std::uint64_t unused = 0;
};

struct StdAtomic16Bytes {
    std::atomic<SixteenBytes> value{SixteenBytes{}};
    void raise() {
        value.store({1, 0}, std::memory_order_release);
        value.notify_one();
    }
    void wait() { value.wait(SixteenBytes{}, std::memory_order_acquire); }
    void disarm() { value.store(SixteenBytes{}, std::memory_order_relaxed); }
    [[nodiscard]] toll::Footing footing() const {
        return {{"lock_free", value.is_lock_free() ? "yes, says the library" : "no, says the library"}};
    }
};

TOLL_CONTENDER(wakeup, std_atomic_16_bytes, StdAtomic16Bytes);
