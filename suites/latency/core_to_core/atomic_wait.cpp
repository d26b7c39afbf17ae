#include "workload.hpp"

/// One integer says whose turn it is; both sides wait on it, and store the other's with notify_one: the
/// document's own measurement.
struct AtomicWait {
    static constexpr bool sleeps = true;
    alignas(toll::core_to_core::line_bytes) std::atomic<int> turn{0};
    void pass(int side) {
        turn.wait(1 - side);
        turn.store(1 - side);
        turn.notify_one();
    }
};

TOLL_CONTENDER(core_to_core, atomic_wait, AtomicWait);
