#pragma once

#include <algorithm>
#include <cstdint>

namespace toll {

/// Numbers in a row: `first`, `first` + 1 and so on, `count` of them.
struct Share {
    std::uint64_t first;
    std::uint64_t count;
};

/// The `index`-th of `parts` shares of 1, 2, ... `total`, which differ by one number at most.
[[nodiscard]] constexpr Share share_of(std::uint64_t total, std::uint64_t parts,
                                       std::uint64_t index) noexcept {
    const std::uint64_t each = total / parts;
    const std::uint64_t longer = total % parts;
    return {1 + index * each + std::min(index, longer), each + (index < longer ? 1 : 0)};
}

}  // namespace toll
