#pragma once

// What the arrays of containers/array_update and containers/array_read hold, and how many.

#include <array>
#include <cstddef>
#include <cstdint>

namespace toll::arrays {

/// The document's arrays hold `int`. Unsigned compiles to the same instructions, and a sum that wraps around
/// is defined.
using Element = std::uint32_t;

/// The document's own example: `int array[100]`.
inline constexpr std::uint64_t default_size = 100;

/// 400 B, 16 KiB (first-level cache), 256 KiB (second), 4 MiB (third), 64 MiB and 512 MiB (memory; the larger
/// one for machines whose last cache holds the smaller). A container whose size is part of its type is
/// compiled for these.
inline constexpr std::array<std::size_t, 6> sizes{default_size, 4096,       65'536,
                                                  1'048'576,    16'777'216, 134'217'728};

inline constexpr std::uint64_t largest_size = std::uint64_t{1}
                                              << 28;  // 1 GiB, for machines with large caches
inline constexpr std::uint64_t most_rounds = 1'000'000'000;

/// What element `index` holds at first.
[[nodiscard]] constexpr Element initial(std::size_t index) noexcept {
    return static_cast<Element>(index);
}

/// Passes of one iteration over an array of `size` elements: as many element accesses as `rounds` passes over
/// the default size, at least one pass. So an iteration is the same work for every size.
[[nodiscard]] constexpr std::uint64_t passes(std::uint64_t rounds, std::uint64_t size) noexcept {
    return (rounds * default_size + size - 1) / size;
}

}  // namespace toll::arrays
