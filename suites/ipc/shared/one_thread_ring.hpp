// A ring of io_uring that one thread makes and uses.
#pragma once

#include <toll/errors.hpp>

#include <liburing.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace toll {

/// From Linux 6.1 on what has ended is told where the thread looks or waits for it. Before, the kernel
/// interrupts the thread's CPU for that, which costs a multiple of the rest in a virtual machine.
class OneThreadRing {
public:
    /// `looks` where the thread looks for what has ended without waiting in the kernel, which then takes
    /// liburing 2.2. Throws Unsupported where the kernel gives no ring.
    OneThreadRing(unsigned entries, bool looks) {
        int error = ::io_uring_queue_init(entries, &ring_, looks ? looking : waiting);
        if (error == -EINVAL) { error = ::io_uring_queue_init(entries, &ring_, 0); }
        if (error < 0) {
            throw Unsupported("io_uring_queue_init: " + std::generic_category().message(-error) +
                              " (kernel.io_uring_disabled?)");
        }
    }
    OneThreadRing(const OneThreadRing&) = delete;
    OneThreadRing& operator=(const OneThreadRing&) = delete;
    ~OneThreadRing() { ::io_uring_queue_exit(&ring_); }

    [[nodiscard]] io_uring* get() noexcept { return &ring_; }
    /// As a footing has it: how the thread is told what has ended.
    [[nodiscard]] const char* completions() const noexcept {
        return (ring_.flags & defer_taskrun) != 0 ? "told where the thread looks"
                                                  : "the kernel interrupts the thread";
    }

private:
    // In the kernel's header since 6.0 and 6.1; liburing 2.3 has them, older ones do not.
    static constexpr unsigned single_issuer = 1U << 12U;
    static constexpr unsigned defer_taskrun = 1U << 13U;
    static constexpr unsigned waiting = single_issuer | defer_taskrun;
#ifdef IORING_SETUP_TASKRUN_FLAG  // liburing 2.2, from which on io_uring_peek_cqe() sees it
    static constexpr unsigned looking = waiting | IORING_SETUP_TASKRUN_FLAG;
#else
    static constexpr unsigned looking = 0;
#endif

    io_uring ring_{};
};

}  // namespace toll
