#pragma once

// The keys of the map workloads, and the hashes that all maps share.

#include "text_hash.hpp"

#include <toll/errors.hpp>
#include <toll/layout.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toll::maps {

using Integer = std::uint64_t;
using Text = std::string;

enum class KeyKind {
    integer,  // spread evenly over 64 bits
    aligned,  // multiples of 4096: their low bits, all that an identity leaves a small table, are alike
    string,   // 24 letters
};

/// "integer", "aligned" or "string". Throws UsageError for anything else.
[[nodiscard]] inline KeyKind parsed_key_kind(const std::string& text) {
    if (text == "integer") { return KeyKind::integer; }
    if (text == "aligned") { return KeyKind::aligned; }
    if (text == "string") { return KeyKind::string; }
    throw UsageError("key is integer, aligned or string, not '" + text + "'");
}

/// A bijection of 64-bit words whose every bit depends on all bits of `word`: the finisher of splitmix64, so
/// that unlike numbers have unlike keys.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t word) noexcept {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
    return word ^ (word >> 31);
}

inline constexpr std::size_t letters = 24;  // on the heap in libstdc++ (from 16) and in libc++ (from 23)

/// Keys in the order in which they will be used, one after the other in memory, so that reading them costs
/// every map the same and little.
template <class Key>
class KeyList;

template <>
class KeyList<Integer> {
public:
    using View = Integer;
    explicit KeyList(KeyKind kind) : kind_(kind) {}
    void reserve(std::size_t keys) { keys_.reserve(keys); }
    /// The key of element `number`; each number has another one. Multiples of 4096 are those of an odd factor
    /// modulo 2^40, so that they are no row in which those that are looked for in vain come last.
    void add(std::uint64_t number) {
        constexpr std::uint64_t pages = std::uint64_t{1} << 40;
        keys_.push_back(kind_ == KeyKind::aligned ? (number + 1) * 0x9E3779B97F4A7C15U % pages * 4096
                                                  : spread(number + 1));
    }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
    [[nodiscard]] View operator[](std::size_t at) const noexcept { return keys_[at]; }

private:
    KeyKind kind_;
    std::vector<Integer> keys_;
};

template <>
class KeyList<Text> {
public:
    using View = std::string_view;
    explicit KeyList(KeyKind /*kind*/) {}
    void reserve(std::size_t keys) { text_.reserve(keys * letters); }
    void add(std::uint64_t number) {
        constexpr std::string_view digits = "0123456789abcdef";
        std::array<char, letters> key{'e', 'l', 'e', 'm', 'e', 'n', 't', ':'};
        std::uint64_t rest = spread(number + 1);
        for (std::size_t at = letters; at-- > letters - 16; rest /= 16) { key[at] = digits[rest % 16]; }
        text_.insert(text_.end(), key.begin(), key.end());
    }
    [[nodiscard]] std::size_t size() const noexcept { return text_.size() / letters; }
    [[nodiscard]] View operator[](std::size_t at) const noexcept {
        return {text_.data() + at * letters, letters};
    }

private:
    std::vector<char> text_;
};

/// Numbers first, first + 1 ... in an order that depends on `seed` alone.
[[nodiscard]] inline std::vector<std::uint64_t> shuffled(std::uint64_t first, std::size_t count,
                                                         std::uint64_t seed) {
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    Random random(seed);
    for (std::size_t i = count; i > 1; --i) {
        std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(random.below(i))]);
    }
    return numbers;
}

template <class Key>
[[nodiscard]] KeyList<Key> keys_of(KeyKind kind, const std::vector<std::uint64_t>& numbers) {
    KeyList<Key> keys(kind);
    keys.reserve(numbers.size());
    for (const std::uint64_t number : numbers) { keys.add(number); }
    return keys;
}

/// std::hash for all maps alike; of texts also by a view, so that a look-up makes no string.
template <class Key>
struct StdHash;
template <>
struct StdHash<Integer> : std::hash<Integer> {};
template <>
struct StdHash<Text> : TextHash {};

/// A hash each of whose bits depends on all of the key's, which says so: maps that would mix another hash
/// once more leave this one as it is. The standard libraries' hashes of texts are such; that of integers is
/// the integer itself, so that here the halves of its product with a constant are folded.
template <class Key>
struct AvalanchingHash;
template <>
struct AvalanchingHash<Integer> {
    using is_avalanching = void;
    std::size_t operator()(Integer key) const noexcept {
#if defined(__SIZEOF_INT128__)
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(key) * 0x9E3779B97F4A7C15U;
        return static_cast<std::size_t>(product) ^ static_cast<std::size_t>(product >> 64);
#else
        return static_cast<std::size_t>(spread(key));
#endif
    }
};
template <>
struct AvalanchingHash<Text> : StdHash<Text> {
    using is_avalanching = void;
};

}  // namespace toll::maps
