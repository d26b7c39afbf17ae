#include "workload.hpp"

#include <semaphore.h>
#include <cerrno>
#include <system_error>

struct PosixSemaphore {
    sem_t semaphore{};
    PosixSemaphore() {
        if (sem_init(&semaphore, 0, 0) != 0) {
            throw std::system_error(errno, std::generic_category(), "sem_init");
        }
    }
    PosixSemaphore(const PosixSemaphore&) = delete;
    PosixSemaphore& operator=(const PosixSemaphore&) = delete;
    ~PosixSemaphore() { sem_destroy(&semaphore); }
    void raise() { sem_post(&semaphore); }
    void wait() {
        while (sem_wait(&semaphore) != 0 && errno == EINTR) {}
    }
};

TOLL_CONTENDER(wakeup, posix_semaphore, PosixSemaphore);
