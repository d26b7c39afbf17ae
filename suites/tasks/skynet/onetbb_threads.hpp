#pragma once

#include "workload.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

namespace toll::skynet {

/// As many threads as were asked for. An arena alone gets no more workers than the machine has CPUs: oneTBB
/// warns on standard error, and 4 threads on 2 CPUs would be 2.
struct OneTbbThreads {
    explicit OneTbbThreads(unsigned threads)
        : allowed(tbb::global_control::max_allowed_parallelism, threads), arena(static_cast<int>(threads)) {}

    tbb::global_control allowed;
    tbb::task_arena arena;
};

}  // namespace toll::skynet
