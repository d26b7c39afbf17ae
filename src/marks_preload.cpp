// libtoll_marks.so: for toll programs under callgrind. A counting pass (src/allocations.cpp) calls these
// functions around its iterations; here they tell callgrind where those begin and end, or have the kernel
// count between them, and count nothing themselves.
//
//   TOLL_COUNTS_EVENT     "TYPE:CONFIG" of perf_event_open: what the kernel is to count
//   TOLL_COUNTS_OUT       the file OUT.PID gets what toll_perf::Marks tells of it
//
// malloc goes on as it is: the program asks whether it is found in the library that counts.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "allocations_preload.hpp"
#include "perf_counter.hpp"

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

int out = -1;
toll_perf::Marks executed;

/// In the form of libtoll_counts.so, whose first five numbers are of allocations.
void tell(const char* text) {
    char record[200];
    const int length = std::snprintf(record, sizeof record, "0 0 0 0 1 %s\n", text);
    (void)!::write(out, record, static_cast<std::size_t>(length));
}

[[gnu::constructor]] void begin() {
    const char* prefix = std::getenv("TOLL_COUNTS_OUT");
    if (prefix == nullptr) { return; }
    char path[4200];
    std::snprintf(path, sizeof path, "%s.%d", prefix, static_cast<int>(getpid()));
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (const char* text = executed.open_as_asked()) { tell(text); }
}

}  // namespace

extern "C" {

void toll_allocations_start() {
    CALLGRIND_ZERO_STATS;
    executed.begin();
}

void toll_allocations_stop(TollAllocations* seen) {
    executed.end();
    CALLGRIND_DUMP_STATS_AT("toll");
    if (const char* text = executed.told()) { tell(text); }
    *seen = {};
}

void* toll_allocations_next_malloc() {
    return reinterpret_cast<void*>(found_malloc());
}

void* malloc(std::size_t bytes) {
    return found_malloc()(bytes);
}

}  // extern "C"
