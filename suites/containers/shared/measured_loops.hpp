#pragma once

// The loops that containers/array_update and containers/array_read time. Each is a function of its own whose
// machine code is looked at after the build (inspect_loops.py), so that a table can say whether it was
// vectorized.

#include "array_element.hpp"

#include <toll/keep.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

// Never inlined, so that inspect_loops.py finds the loop under its name. GCC would also merge functions of
// equal code (a range-for and an iterator loop) and clone them for constant arguments: one name would then
// stand for other code than what runs.
#if defined(__clang__)
#define TOLL_MEASURED_LOOP [[gnu::noinline]]
#else
#define TOLL_MEASURED_LOOP [[gnu::noipa]]
#endif

namespace toll::arrays {

/// How a loop comes to its elements.
enum class Access { index, at, iterator, range_for };

/// The length that is part of a container's type; 0 where there is none.
template <class C>
inline constexpr std::size_t length_in_type = 0;
template <class T, std::size_t N>
inline constexpr std::size_t length_in_type<T[N]> = N;
template <class T, std::size_t N>
inline constexpr std::size_t length_in_type<std::array<T, N>> = N;

/// The length as the container's user knows it: a constant where it is part of the type, as in
/// `for (i = 0; i < 100; ++i)`. Elsewhere `size`, which the loop's caller gives: a loop that ended at
/// c.size() would let the compiler prove that no check can fail and leave all of them out.
template <class C>
[[nodiscard, gnu::always_inline]] constexpr std::size_t length(std::size_t size) noexcept {
    return length_in_type<C> != 0 ? length_in_type<C> : size;
}

/// One round of updates: every element grows by `n`. Containers without an index are walked through.
template <class C>
[[gnu::always_inline]] inline void update_all(C& c, std::size_t size, Element n) {
    if constexpr (requires { c[size]; }) {
        for (std::size_t i = 0; i < length<C>(size); ++i) { c[i] = c[i] + n; }
    } else {
        for (Element& element : c) { element = element + n; }
    }
}

/// One round of reads: `total` plus every element.
template <Access access, class C>
[[gnu::always_inline]] inline Element add_all(const C& c, std::size_t size, Element total) {
    if constexpr (access == Access::index) {
        for (std::size_t i = 0; i < length<C>(size); ++i) { total += c[i]; }
    } else if constexpr (access == Access::at) {
        for (std::size_t i = 0; i < length<C>(size); ++i) { total += c.at(i); }
    } else if constexpr (access == Access::iterator) {
        for (auto element = std::begin(c); element != std::end(c); ++element) { total += *element; }
    } else {
        for (const Element element : c) { total += element; }
    }
    return total;
}

/// `rounds` rounds of updates with n = 1, 2, ... The barrier between two rounds makes the compiler take the
/// array for read and changed by somebody else: it can neither add several n at once nor leave a store out.
/// Inside a round it is free to vectorize and unroll.
template <class C>
TOLL_MEASURED_LOOP void measured_update(C& container, std::size_t size, std::uint64_t rounds) {
    for (std::uint64_t n = 1; n <= rounds; ++n) {
        update_all(container, size, static_cast<Element>(n));
        clobber();
    }
}

/// The sum of all elements over `rounds` rounds. The barrier makes the compiler read the array again in each
/// round; otherwise one sum times `rounds` would do.
template <Access access, class C>
[[nodiscard]] TOLL_MEASURED_LOOP Element measured_read(const C& container, std::size_t size,
                                                       std::uint64_t rounds) {
    Element total = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        total = add_all<access>(container, size, total);
        clobber();
    }
    return total;
}

}  // namespace toll::arrays
