#pragma once

#include "workload.hpp"

#include <liburing.h>

#include <string>
#include <system_error>

namespace toll::cachecalc {

/// A ring that one thread uses. Throws Unsupported where the kernel gives none.
class Uring {
public:
    Uring(const Inputs& inputs, unsigned entries) {
        require_one_thread(inputs, "one thread has the ring");
        const int error = ::io_uring_queue_init(entries, &ring_, 0);
        if (error < 0) {
            throw Unsupported("io_uring_queue_init: " + std::generic_category().message(-error) +
                              " (kernel.io_uring_disabled?)");
        }
    }
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;
    ~Uring() { ::io_uring_queue_exit(&ring_); }

    [[nodiscard]] io_uring* get() noexcept { return &ring_; }

private:
    io_uring ring_{};
};

/// As the kernel takes it.
inline __kernel_timespec timespec_of(std::chrono::nanoseconds time) noexcept {
    return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

}  // namespace toll::cachecalc
