#include "workload.hpp"

#include <semaphore>

struct StdBinarySemaphore {
    std::binary_semaphore semaphore{0};
    void raise() { semaphore.release(); }
    void wait() { semaphore.acquire(); }
};

TOLL_CONTENDER(wakeup, std_binary_semaphore, StdBinarySemaphore);
