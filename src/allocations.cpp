#include "toll/allocations.hpp"

#include "allocations_preload.hpp"
#include "toll/errors.hpp"

namespace toll {

bool can_count_allocations() noexcept {
    return toll_allocations_start != nullptr;
}

void start_counting_allocations() {
    if (!can_count_allocations()) {
        throw Unsupported(
            "allocations are counted only where libtoll_allocations.so is preloaded (LD_PRELOAD)");
    }
    toll_allocations_start();
}

AllocationCounts stop_counting_allocations() {
    TollAllocations seen{};
    toll_allocations_stop(&seen);
    return {seen.calls, seen.bytes, seen.peak_bytes};
}

}  // namespace toll
