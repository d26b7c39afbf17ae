#include "workload.hpp"

/// Waits and gives the turn in one read-modify-write, as core-to-core-latency does: every attempt takes the
/// line.
struct CompareExchange {
    std::atomic<int> turn{0};
    void pass(int side) {
        int expected = side;
        while (!turn.compare_exchange_strong(expected, 1 - side, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
            expected = side;
        }
    }
};

TOLL_CONTENDER(core_to_core, compare_exchange, CompareExchange);
