#pragma once

// The document's test: fill a container up to `group` elements, count duplicates, clear it now and then.

#include "text.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace toll::count_words {

/// The document calls it sLookupScale and does not give its value. With 40,743 words its counts of
/// allocations (7,200, 6,500 and 6,000 nodes) need 72, 13 and 6 fills; of the whole numbers only 1 to 4 leave
/// words enough for the first, and 4 needs the fewest words to find 100 unlike ones: 166 to 171.
inline constexpr std::size_t lookup_scale = 4;

/// What a contender models: a container that counts words, empty when it is made.
///  - `count(word)` adds one to the word's count and returns true, or returns false where it is not in yet;
///  - `add(word)` puts a word in that is not there, counted once;
///  - `size()`, `clear()`;
///  - `each(visit)` calls visit(word, count) for all, in any order.
template <class C>
concept Counter =
    std::constructible_from<C, std::size_t> && requires(C counter, const C& filled, std::string_view word) {
        { counter.count(word) } -> std::same_as<bool>;
        counter.add(word);
        { filled.size() } -> std::convertible_to<std::size_t>;
        counter.clear();
        filled.each([](std::string_view, int) {});
    };

/// One word with its count; a container's digest is the sum over its elements, so that their order is free.
[[nodiscard]] inline std::uint64_t digest_of(std::string_view word, int count) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, 64 bits
    for (const char byte : word) { hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U; }
    hash += static_cast<std::uint64_t>(count) * 0x9E3779B97F4A7C15U;
    return (hash ^ (hash >> 31)) * 0xBF58476D1CE4E5B9U;
}

template <class C>
[[nodiscard]] std::uint64_t digest_of(const C& counter) {
    std::uint64_t sum = 0;
    counter.each([&](std::string_view word, int count) { sum += digest_of(word, count); });
    return sum;
}

/// What one pass over the words comes to: equal for all containers.
struct Tally {
    std::uint64_t duplicates = 0;  ///< words that were found
    std::uint64_t added = 0;
    std::uint64_t clears = 0;
    std::uint64_t digest = 0;  ///< of what the container holds at the end

    friend bool operator==(const Tally&, const Tally&) = default;
};

/// The document's loop over all words, or until go_on() is false. `cleared(counter)` comes before each clear.
template <Counter C, class Cleared, class GoOn>
[[nodiscard]] Tally pass(const Words& words, std::size_t group, C& counter, Cleared&& cleared, GoOn&& go_on) {
    Tally tally;
    std::size_t lookups = 0;
    words.each([&](std::string_view word) {
        if (counter.size() < group) {
            if (counter.count(word)) {
                ++tally.duplicates;
            } else {
                counter.add(word);
                ++tally.added;
            }
            return go_on();
        }
        tally.duplicates += counter.count(word) ? 1 : 0;
        if (++lookups == lookup_scale * group) {
            lookups = 0;
            cleared(counter);
            counter.clear();
            ++tally.clears;
        }
        return go_on();
    });
    tally.digest = digest_of(counter);
    return tally;
}

}  // namespace toll::count_words
