// What libtoll_allocations.so offers to a program that it is preloaded into.
#pragma once

#include <cstdint>

struct TollAllocations {
    std::uint64_t calls;
    std::uint64_t bytes;
    std::uint64_t peak_bytes;
};

// Weak: null where the library is not preloaded. Programs must be position independent (CMake sees
// to it), or the linker settles these to null for good.
extern "C" {
[[gnu::weak]] void toll_allocations_start();
[[gnu::weak]] void toll_allocations_stop(TollAllocations* seen);
[[gnu::weak]] void* toll_allocations_next_malloc();  // address of the malloc that serves what is counted
}
