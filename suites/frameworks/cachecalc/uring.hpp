#pragma once

#include "../../ipc/shared/one_thread_ring.hpp"
#include "workload.hpp"

#include <liburing.h>

namespace toll::cachecalc {

/// The ring of a contender that is one thread, which looks into it between tasks. Throws Unsupported.
inline OneThreadRing ring_for(const Inputs& inputs, unsigned entries) {
    require_one_thread(inputs, "one thread has the ring");
    return {entries, true};
}

/// As the kernel takes it.
inline __kernel_timespec timespec_of(std::chrono::nanoseconds time) noexcept {
    return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

}  // namespace toll::cachecalc
