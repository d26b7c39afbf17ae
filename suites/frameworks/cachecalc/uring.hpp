#pragma once

#include "workload.hpp"

#include <liburing.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace toll::cachecalc {

/// A ring that one thread uses. Throws Unsupported where the kernel gives none.
class Uring {
public:
    Uring(const Inputs& inputs, unsigned entries) {
        require_one_thread(inputs, "one thread has the ring");
        int error = ::io_uring_queue_init(entries, &ring_, one_thread);
        if (error == -EINVAL) { error = ::io_uring_queue_init(entries, &ring_, 0); }  // Linux before 6.1
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
    // The thread that makes the ring alone uses it, and what has ended is told where it looks or waits: else
    // the kernel interrupts it for that. In the kernel's header since 6.0 and 6.1, older ones of liburing
    // lack them.
    static constexpr unsigned single_issuer = 1U << 12U;
    static constexpr unsigned defer_taskrun = 1U << 13U;
#ifdef IORING_SETUP_TASKRUN_FLAG  // liburing 2.2, from which on io_uring_peek_cqe() sees it
    static constexpr unsigned one_thread = single_issuer | defer_taskrun | IORING_SETUP_TASKRUN_FLAG;
#else
    static constexpr unsigned one_thread = 0;
#endif
    io_uring ring_{};
};

/// As the kernel takes it.
inline __kernel_timespec timespec_of(std::chrono::nanoseconds time) noexcept {
    return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

}  // namespace toll::cachecalc
