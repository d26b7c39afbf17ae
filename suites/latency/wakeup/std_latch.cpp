#include "workload.hpp"

#include <latch>
#include <optional>

struct StdLatch {
    std::optional<std::latch> latch;  // serves one wait: a new one for each sample
    void arm() { latch.emplace(1); }
    void raise() { latch->count_down(); }
    void wait() { latch->wait(); }
};

TOLL_CONTENDER(wakeup, std_latch, StdLatch);
