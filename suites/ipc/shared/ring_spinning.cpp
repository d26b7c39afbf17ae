#include "both.hpp"
#include "ring.hpp"

/// Who waits polls the slot that is filled next.
struct RingSpinning : toll::ipc::RingChannel<toll::ipc::NoBell> {
    using RingChannel::RingChannel;
    static constexpr bool never_sleeps = true;
};

TOLL_IPC_CONTENDER(ring_spinning, RingSpinning);
