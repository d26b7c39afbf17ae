// libtoll_marks.so: for toll programs under callgrind. A counting pass (src/allocations.cpp) calls these
// functions around its iterations; here they tell callgrind where those begin and end, and count nothing
// themselves.
//
// malloc goes on as it is: the program asks whether it is found in the library that counts.
#include <dlfcn.h>

#include <cstddef>

#include "allocations_preload.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(text) (void)(text)
#endif

namespace {

using Malloc = void* (*)(std::size_t);
Malloc next_malloc = nullptr;

Malloc found_malloc() {
    if (next_malloc == nullptr) { next_malloc = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "malloc")); }
    return next_malloc;
}

}  // namespace

extern "C" {

void toll_allocations_start() {
    CALLGRIND_ZERO_STATS;
}

void toll_allocations_stop(TollAllocations* seen) {
    CALLGRIND_DUMP_STATS_AT("toll");
    *seen = {};
}

void* toll_allocations_next_malloc() {
    return reinterpret_cast<void*>(found_malloc());
}

void* malloc(std::size_t bytes) {
    return found_malloc()(bytes);
}

}  // extern "C"
