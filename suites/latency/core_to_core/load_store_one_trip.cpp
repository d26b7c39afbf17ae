#include "workload.hpp"

/// The word and the line of `load_store`, but side 0 reads the clock when the turn has come back and before
/// it gives it away again, as `ipc/round_trip` and programs that look at what came do. A trip so timed took
/// 1.6 times as long as one in a row without looks (virtual Intel Xeon with AMX). The clock's own time is
/// taken off; 50 to 60 cycles of arithmetic between the load that sees the turn and the next store did alike.
struct LoadStoreOneTrip {
    static constexpr bool timed_alone = true;
    std::atomic<int> turn{0};
    void pass(int side) {
        if (side == 0) {
            give(1);
            await(0);
        } else {
            await(1);
            give(0);
        }
    }

private:
    void give(int side) noexcept { turn.store(side, std::memory_order_release); }
    void await(int side) const noexcept {
        while (turn.load(std::memory_order_acquire) != side) { toll::cpu_relax(); }
    }
};

TOLL_CONTENDER(core_to_core, load_store_one_trip, LoadStoreOneTrip);
