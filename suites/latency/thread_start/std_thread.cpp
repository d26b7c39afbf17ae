#include "posix_starter.hpp"
#include "workload.hpp"

#include <functional>

struct StdThread {
    std::thread thread;
    void start(toll::thread_start::Arrival& arrival) { thread = std::thread(std::ref(arrival)); }
    void finish() { thread.join(); }
    [[nodiscard]] static toll::Footing footing() { return toll::thread_start::ThreadAttributes().footing(); }
};

TOLL_CONTENDER(thread_start, std_thread, StdThread);
