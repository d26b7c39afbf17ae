#include "workload.hpp"

/// One word on one line: whose turn it is.
struct LoadStore {
    std::atomic<int> turn{0};
    void pass(int side) {
        while (turn.load(std::memory_order_acquire) != side) { toll::cpu_relax(); }
        turn.store(1 - side, std::memory_order_release);
    }
};

TOLL_CONTENDER(core_to_core, load_store, LoadStore);
