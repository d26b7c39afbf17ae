// Barriers against the optimiser. They cost no instruction of their own; tests/cpp/keep_assembly
// looks at what GCC and Clang make of them.
#pragma once

#include <type_traits>

namespace toll {

/// Makes the compiler compute `value` and take it for used. Small trivial values stay in a
/// register; everything else is made to exist in memory, because "r" cannot hold it.
template <class T>
[[gnu::always_inline]] inline void keep(const T& value) noexcept {
    // NOLINTNEXTLINE(bugprone-branch-clone): the constraints differ, which the check does not see
    if constexpr (std::is_floating_point_v<T> && sizeof(T) <= sizeof(double)) {
#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2_MATH__))
        // "x" keeps a double in its vector register; "r,m" would force a move per iteration.
        asm volatile("" : : "x"(value));
#elif defined(__aarch64__)
        asm volatile("" : : "w"(value));
#else
        asm volatile("" : : "m"(value));
#endif
    } else if constexpr (std::is_scalar_v<T> && sizeof(T) <= sizeof(void*)) {
        asm volatile("" : : "r"(value));
    } else {
        asm volatile("" : : "m"(value) : "memory");
    }
}

/// As above, and the compiler must also assume that `value` changed: it can neither fold it nor
/// carry anything that it knew about it past this point.
template <class T>
[[gnu::always_inline]] inline void keep_changed(T& value) noexcept {
    // NOLINTNEXTLINE(bugprone-branch-clone)
    if constexpr (std::is_floating_point_v<T> && sizeof(T) <= sizeof(double)) {
#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2_MATH__))
        asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
        asm volatile("" : "+w"(value));
#else
        asm volatile("" : "+m"(value));
#endif
    } else if constexpr (std::is_scalar_v<T> && sizeof(T) <= sizeof(void*)) {
        asm volatile("" : "+r"(value));
    } else {
        asm volatile("" : "+m"(value) : : "memory");
    }
}

/// Makes the compiler take all memory that escaped for read and written: pending stores happen
/// before it, loads are repeated after it. No fence for the processor.
[[gnu::always_inline]] inline void clobber() noexcept {
    asm volatile("" : : : "memory");
}

}  // namespace toll
