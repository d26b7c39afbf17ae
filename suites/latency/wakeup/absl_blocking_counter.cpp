#include "../shared/absl_locks.hpp"
#include "workload.hpp"

#include <absl/synchronization/blocking_counter.h>

#include <optional>

struct AbslBlockingCounter {
    [[no_unique_address]] toll::locks::NoDeadlockSearch off;
    std::optional<absl::BlockingCounter> counter;  // serves one wait: a new one for each sample
    void arm() { counter.emplace(1); }
    // NOLINTBEGIN(bugprone-unchecked-optional-access): who raises has armed it
    void raise() { counter->DecrementCount(); }
    void wait() { counter->Wait(); }
    // NOLINTEND(bugprone-unchecked-optional-access)
};

TOLL_CONTENDER(wakeup, absl_blocking_counter, AbslBlockingCounter);
