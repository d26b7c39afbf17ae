#include "workload.hpp"

#include <latch>
#include <optional>

struct StdLatch {
    std::optional<std::latch> latch;  // serves one wait: a new one for each sample
    void arm() { latch.emplace(1); }
    // NOLINTBEGIN(bugprone-unchecked-optional-access): who raises has armed it
    void raise() { latch->count_down(); }
    void wait() { latch->wait(); }
    // NOLINTEND(bugprone-unchecked-optional-access)
};

TOLL_CONTENDER(wakeup, std_latch, StdLatch);
