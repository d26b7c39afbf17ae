#include "workload.hpp"

#include <semaphore>

struct StdCountingSemaphore {
    std::counting_semaphore<> semaphore{0};
    void raise() { semaphore.release(); }
    void wait() { semaphore.acquire(); }
};

TOLL_CONTENDER(wakeup, std_counting_semaphore, StdCountingSemaphore);
