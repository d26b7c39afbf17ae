#include "posix_starter.hpp"
#include "workload.hpp"

#include <functional>

struct StdJthread {
    std::jthread thread;
    void start(toll::thread_start::Arrival& arrival) { thread = std::jthread(std::ref(arrival)); }
    void finish() { thread.join(); }
    [[nodiscard]] static toll::Footing footing() { return toll::thread_start::ThreadAttributes().footing(); }
};

TOLL_CONTENDER(thread_start, std_jthread, StdJthread);
