#include "workload.hpp"

/// Looks at the clock until the time has passed; the CPU is busy all the while.
struct PauseLoop {
    void sleep(toll::sleep::nanoseconds length) {
        const auto until = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < until) { toll::cpu_relax(); }
    }
};

TOLL_CONTENDER(sleep, pause_loop, PauseLoop);
