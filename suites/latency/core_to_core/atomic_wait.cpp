#include "workload.hpp"

/// A flag for each side, set with notify_one and waited for: the document's own measurement.
struct AtomicWait {
    static constexpr bool sleeps = true;
    struct alignas(toll::core_to_core::line_bytes) OwnLine {
        std::atomic_flag set;
    };
    std::array<OwnLine, 2> of_side;
    AtomicWait() { of_side[0].set.test_and_set(); }
    void pass(int side) {
        of_side[side].set.wait(false, std::memory_order_acquire);
        of_side[side].set.clear(std::memory_order_relaxed);
        of_side[1 - side].set.test_and_set(std::memory_order_release);
        of_side[1 - side].set.notify_one();
    }
};

TOLL_CONTENDER(core_to_core, atomic_wait, AtomicWait);
