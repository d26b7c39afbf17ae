// Variation of what speed depends on by accident: where the stack and the heap lie.
#pragma once

#include <alloca.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "toll/keep.hpp"

namespace toll {

/// splitmix64 (Steele, Lea, Flood 2014): a full-period generator of one 64-bit word of state.
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    /// Uniform in [0, bound); `bound` is small, so that the modulo's bias does not matter.
    std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

private:
    std::uint64_t state_;
};

/// Where a seed puts stack and heap. Its blocks stay allocated as long as it lives: for every size
/// class up to 1 KiB a random number of them, so that what is allocated next comes from another place
/// of that class's free list, and everything larger lies elsewhere too. About 100 KiB in all.
class Layout {
public:
    static constexpr std::size_t stack_step_bytes = 16;  // the stack's alignment
    static constexpr std::size_t stack_range_bytes = 4096;

    explicit Layout(std::uint64_t seed);
    [[nodiscard]] std::size_t stack_shift_bytes() const noexcept { return stack_shift_bytes_; }
    [[nodiscard]] std::size_t heap_blocks() const noexcept { return blocks_.size(); }

private:
    std::size_t stack_shift_bytes_;
    std::vector<std::unique_ptr<char[]>> blocks_;
};

namespace detail {

/// Keeps the callee's frame out of the frame that holds the shift: inlined, its locals would lie above.
template <class Call>
[[gnu::noinline]] auto call_apart(Call& call) -> decltype(call()) {
    return call();
}

}  // namespace detail

/// Calls call() with the stack moved down by `bytes`, a multiple of 16.
template <class Call>
[[gnu::noinline]] auto with_stack_shifted(std::size_t bytes, Call&& call) -> decltype(call()) {
    // The extra 16 keep alloca(0) from being dropped, so that every seed takes the same path.
    void* shift = alloca(bytes + Layout::stack_step_bytes);
    keep(shift);
    clobber();
    if constexpr (std::is_void_v<decltype(call())>) {
        detail::call_apart(call);
        clobber();  // no tail call: it would give the shift back first
    } else {
        auto result = detail::call_apart(call);
        clobber();
        return result;
    }
}

}  // namespace toll
