// What latency/contention and latency/contended_increment ask of a contender: an integer that threads
// increment.
#pragma once

#include "lock_concept.hpp"

#include <concepts>
#include <cstdint>

namespace toll::contention {

/// What a contender models: an integer that starts at 0.
///  - `draw(goal)` adds one and returns the number from before; where that is `goal` or more, nothing counts
///    any more;
///  - `count()` is the integer when all threads are through;
///  - `oversteps` (optional): true for a contender that adds one in a draw beyond the goal too.
template <class C>
concept Counter = std::default_initializable<C> && requires(C counter, const C& still, std::uint64_t goal) {
    { counter.draw(goal) } -> std::same_as<std::uint64_t>;
    { still.count() } -> std::same_as<std::uint64_t>;
};

template <Counter C>
inline constexpr bool oversteps = requires { requires C::oversteps; };

/// What a contender models instead where each thread adds a number of its own, in a plain loop: `add(count)`
/// adds one so many times, `count()` is the integer when all threads are through.
template <class C>
concept AddsAsAsked =
    std::default_initializable<C> && requires(C counter, const C& still, std::uint64_t count) {
        counter.add(count);
        { still.count() } -> std::same_as<std::uint64_t>;
    };

/// A plain integer beside its lock, on the lock's line where there is room: how it is written in practice.
template <locks::Lock L>
class Locked {
public:
    std::uint64_t draw(std::uint64_t goal) {
        const locks::Held<L> held{lock_};
        return count_ < goal ? count_++ : count_;
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    L lock_;
    std::uint64_t count_ = 0;
};

/// The same, locked as often as it is told.
template <locks::Lock L>
class LockedAsAsked {
public:
    void add(std::uint64_t count) {
        for (; count != 0; --count) {
            const locks::Held<L> held{lock_};
            ++count_;
        }
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    L lock_;
    std::uint64_t count_ = 0;
};

}  // namespace toll::contention
