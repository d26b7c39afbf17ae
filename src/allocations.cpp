#include "toll/allocations.hpp"

#include <dlfcn.h>

#include <string_view>

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

std::string malloc_provider() {
    // Asked of the dynamic linker: &malloc may be a jump inside the program instead.
    void* const function = toll_allocations_next_malloc != nullptr ? toll_allocations_next_malloc()
                                                                   : dlsym(RTLD_DEFAULT, "malloc");
    Dl_info found{};
    if (function == nullptr || dladdr(function, &found) == 0 || found.dli_fname == nullptr) {
        return "unknown";
    }
    const std::string_view path(found.dli_fname);
    const std::string_view name = path.substr(path.rfind('/') + 1);
#if defined(__GLIBC__)
    if (name == "libc.so.6") { return "glibc"; }
#endif
    return std::string(name);
}

}  // namespace toll
