// The counting pass: what goes through malloc and its family, in all threads. It works in a process
// that was started with libtoll_allocations.so preloaded, so that timed launches carry no
// interposed malloc.
#pragma once

#include <cstdint>
#include <string>

namespace toll {

struct AllocationCounts {
    std::uint64_t calls = 0;       // malloc, calloc, realloc, the memalign family, operator new
    std::uint64_t bytes = 0;       // as requested
    std::uint64_t peak_bytes = 0;  // most that was live at once beyond what was live at the start,
                                   // in the sizes that the allocator really gave (malloc_usable_size)
};

/// Whether the counting library is in this process.
[[nodiscard]] bool can_count_allocations() noexcept;

/// Begins to count. Throws Unsupported where the counting library is not preloaded.
void start_counting_allocations();

/// Ends the counting that the last start began.
[[nodiscard]] AllocationCounts stop_counting_allocations();

/// What serves malloc in this process: "glibc", or the file name of the shared object, such as
/// "libjemalloc.so.2" where it is preloaded, or of the program where malloc is linked into it. The
/// counting library itself is looked through. "unknown" where the dynamic linker cannot tell.
[[nodiscard]] std::string malloc_provider();

}  // namespace toll
