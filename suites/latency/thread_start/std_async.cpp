#include "posix_starter.hpp"
#include "workload.hpp"

#include <functional>
#include <future>

struct StdAsync {
    std::future<void> done;
    void start(toll::thread_start::Arrival& arrival) {
        done = std::async(std::launch::async, std::ref(arrival));
    }
    void finish() { done.get(); }
    [[nodiscard]] static toll::Footing footing() { return toll::thread_start::ThreadAttributes().footing(); }
};

TOLL_CONTENDER(thread_start, std_async, StdAsync);
