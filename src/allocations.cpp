#include "toll/allocations.hpp"

#include <dlfcn.h>

#include <string_view>

#include "allocations_preload.hpp"
#include "toll/errors.hpp"

namespace toll {
namespace {

/// Where malloc is found by those that call it. Asked of the dynamic linker: &malloc may be a jump inside the
/// program instead.
void* malloc_in_use() {
    return dlsym(RTLD_DEFAULT, "malloc");
}

Dl_info object_of(const void* function) {
    Dl_info found{};
    if (function == nullptr || dladdr(function, &found) == 0) { found = {}; }
    return found;
}

/// A program that brings its own malloc (Seastar is linked into it) comes before everything preloaded: the
/// counter then sees only what shared libraries ask for, 7 calls for 100 tasks.
bool counter_stands_before_malloc() {
    return object_of(malloc_in_use()).dli_fbase ==
           object_of(reinterpret_cast<const void*>(toll_allocations_start)).dli_fbase;
}

}  // namespace

bool can_count_allocations() noexcept {
    return toll_allocations_start != nullptr;
}

void start_counting_allocations() {
    if (!can_count_allocations()) {
        throw Unsupported(
            "allocations are counted only where libtoll_allocations.so is preloaded (LD_PRELOAD)");
    }
    if (!counter_stands_before_malloc()) {
        throw Unsupported(
            "allocations cannot be counted: the program brings a malloc of its own, which comes before the "
            "counting library");
    }
    toll_allocations_start();
}

AllocationCounts stop_counting_allocations() {
    TollAllocations seen{};
    toll_allocations_stop(&seen);
    return {seen.calls, seen.bytes, seen.peak_bytes};
}

std::string malloc_provider() {
    void* const function = can_count_allocations() && counter_stands_before_malloc()
                               ? toll_allocations_next_malloc()
                               : malloc_in_use();
    const Dl_info found = object_of(function);
    if (found.dli_fname == nullptr) { return "unknown"; }
    const std::string_view path(found.dli_fname);
    const std::string_view name = path.substr(path.rfind('/') + 1);
#if defined(__GLIBC__)
    if (name == "libc.so.6") { return "glibc"; }
#endif
    return std::string(name);
}

}  // namespace toll
