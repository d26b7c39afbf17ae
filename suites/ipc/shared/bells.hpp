// What a ring sleeps on beside the futex of ring.hpp.
#pragma once

#include "descriptors.hpp"
#include "shared_memory.hpp"

#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace toll::ipc {

/// As the futex's, but for what is slept on: an eventfd, which an event loop could wait for as well. It is
/// made before the other side exists, so that both have it.
class EventfdBell {
public:
    EventfdBell() { check_call(event_ = ::eventfd(0, EFD_CLOEXEC), "eventfd"); }
    EventfdBell(const EventfdBell&) = delete;
    EventfdBell& operator=(const EventfdBell&) = delete;
    ~EventfdBell() { ::close(event_); }

    void ring() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeps_.load(std::memory_order_relaxed) != 0 &&
            sleeps_.exchange(0, std::memory_order_relaxed) != 0) {
            const std::uint64_t one = 1;
            while (::write(event_, &one, sizeof one) < 0 && errno == EINTR) {}
        }
    }
    template <class Ready>
    void wait(Ready ready) noexcept {
        while (!ready()) {
            sleeps_.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            // Who has taken the word will write: that is read, so that it does not end the next wait.
            if (ready() && sleeps_.exchange(0, std::memory_order_relaxed) != 0) { return; }
            std::uint64_t rung = 0;
            while (::read(event_, &rung, sizeof rung) < 0 && errno == EINTR) {}
        }
    }

private:
    Word sleeps_{0};
    int event_ = -1;
};

/// A process-shared semaphore that is posted where somebody sleeps, or is about to.
class SemaphoreBell {
public:
    SemaphoreBell() { check_call(::sem_init(&semaphore_, 1, 0), "sem_init"); }
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
    Word sleeps_{0};
    sem_t semaphore_{};
};

}  // namespace toll::ipc
