#include "../shared/spinlocks.hpp"
#include "workload.hpp"

#include <toll/barriers.hpp>

/// Each side waits for a lock that the other side holds, then releases the other side's: what latency/wakeup
/// measures of a spinlock in mode hot, here as half of a round trip.
struct SpinlockHandoff {
    struct alignas(toll::core_to_core::line_bytes) OwnLine {
        toll::locks::TestAndTestAndSet lock;
    };
    std::array<OwnLine, 2> of_side;
    SpinlockHandoff() { of_side[1].lock.lock(); }
    void pass(int side) {
        of_side[side].lock.lock();
        // The hand-off ends where the lock is held. Else the CPU asks for the other lock's line while its own
        // is still on the way, and two moves of a line are seen of three (docs/latency.md has the figures).
        toll::await_instructions();
        of_side[1 - side].lock.unlock();
    }
};

TOLL_CONTENDER(core_to_core, spinlock_handoff, SpinlockHandoff);
