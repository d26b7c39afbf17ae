// The counting pass: what goes through malloc and its family, in all threads. It works in a process
// that was started with libtoll_allocations.so preloaded, so that timed launches carry no
// interposed malloc.
#pragma once

#include <cstdint>

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

}  // namespace toll
