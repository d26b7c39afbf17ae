#include "workload.hpp"

#include <future>

struct StdPromise {
    std::promise<void> promise;  // serves one wait: a new one for each sample
    std::future<void> future;
    void arm() {
        promise = std::promise<void>{};
        future = promise.get_future();
    }
    void raise() { promise.set_value(); }
    void wait() { future.get(); }
};

TOLL_CONTENDER(wakeup, std_promise, StdPromise);
