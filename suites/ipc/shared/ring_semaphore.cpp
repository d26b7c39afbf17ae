#include "both.hpp"
#include "descriptors.hpp"
#include "ring.hpp"

#include <semaphore.h>

namespace {

/// A process-shared semaphore that is posted where somebody sleeps, or is about to.
class SemaphoreBell {
public:
    SemaphoreBell() { toll::ipc::check_call(::sem_init(&semaphore_, 1, 0), "sem_init"); }
    SemaphoreBell(const SemaphoreBell&) = delete;
    SemaphoreBell& operator=(const SemaphoreBell&) = delete;

    void ring() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeps_.load(std::memory_order_relaxed) != 0 &&
            sleeps_.exchange(0, std::memory_order_relaxed) != 0) {
            ::sem_post(&semaphore_);
        }
    }
    template <class Ready>
    void wait(Ready ready) noexcept {
        while (!ready()) {
            sleeps_.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            // Who has taken the word will post: that is waited for, so that it does not end the next wait.
            if (ready() && sleeps_.exchange(0, std::memory_order_relaxed) != 0) { return; }
            while (::sem_wait(&semaphore_) < 0 && errno == EINTR) {}
        }
    }

private:
    toll::ipc::Word sleeps_{0};
    sem_t semaphore_{};
};

}  // namespace

using RingSemaphore = toll::ipc::RingChannel<SemaphoreBell>;

TOLL_IPC_CONTENDER(ring_semaphore, RingSemaphore);
