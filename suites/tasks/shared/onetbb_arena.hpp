#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

namespace toll {

/// As many threads as were asked for. An arena alone gets no more workers than the machine has CPUs: oneTBB
/// warns on standard error, and 4 threads on 2 CPUs would be 2.
class OneTbbArena {
public:
    explicit OneTbbArena(unsigned threads)
        : allowed_(tbb::global_control::max_allowed_parallelism, threads),
          arena_(static_cast<int>(threads)) {}

    /// In the arena; the calling thread works too.
    template <class Work>
    auto execute(const Work& work) {
        return arena_.execute(work);
    }

private:
    tbb::global_control allowed_;
    tbb::task_arena arena_;
};

}  // namespace toll
