#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace toll::maps {

/// Bytes that glibc's malloc has given out and not got back, with what each block costs it beside what was
/// asked for (mallinfo(3)): exact to some blocks of each size, which a thread keeps for itself. Nothing where
/// the C library has no such count (glibc since 2.33); where another malloc is in its place it does not grow.
[[nodiscard]] inline std::optional<std::int64_t> heap_in_use() noexcept {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    const auto all = ::mallinfo2();
    return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
#else
    return std::nullopt;
#endif
}

}  // namespace toll::maps
