#pragma once

// What all map workloads have in common around their timed parts.

#include "map_table.hpp"

#include <toll/contender.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace toll::maps {

inline constexpr std::size_t most_elements = 100'000'000;
inline constexpr std::size_t most_of_slow = 10'000;

/// Elements and keys as asked for, and the contender's map for them.
template <Family F>
class Session {
public:
    static std::vector<Parameter> parameters() {
        return {{"elements", "10000", "elements", "that the map holds"},
                {"key", "integer", "",
                 "integer: 64 bits, spread evenly; aligned: multiples of 4096, alike in the bits that an "
                 "identity hash leaves a table; string: 24 letters"}};
    }

    explicit Session(const Arguments& arguments)
        : kind_(parsed_key_kind(arguments.text("key"))),
          elements_(static_cast<std::size_t>(arguments.number("elements", 1, most_elements))),
          table_(make_table<F>(kind_, elements_)) {}

    [[nodiscard]] Table& table() const noexcept { return *table_; }
    [[nodiscard]] std::size_t elements() const noexcept { return elements_; }

    /// Fills the map and tells whether it holds what it should.
    void fill() {
        table_->fill();
        if (table_->all() != all_of(0)) {
            throw WrongAnswer("the map does not hold the elements that were put into it");
        }
    }

    /// All elements from number `first` on, visited.
    [[nodiscard]] Found all_of(std::uint64_t first) const noexcept {
        const std::uint64_t n = elements_;
        return {n, n % 2 == 0 ? n / 2 * (n + 1) + first * n : (n + 1) / 2 * n + first * n};
    }

    /// Containers that move many elements for a new one say how many are too many. Throws Unsupported.
    void refuse_what_takes_minutes() const {
        if constexpr (moves_half<F>) {
            if (elements_ > most_of_slow) {
                throw Unsupported(
                    "moves half of its elements for every new one: elements=" + std::to_string(elements_) +
                    " would take minutes; ask for " + std::to_string(most_of_slow) + " or less");
            }
        }
    }

    [[nodiscard]] Details details() const {
        Details all;
        if (const auto bytes = table_->bytes_per_element()) { all.emplace("bytes_per_element", *bytes); }
        return all;
    }

    [[nodiscard]] static Footing footing() { return {{"threads", 1}}; }

private:
    KeyKind kind_;
    std::size_t elements_;
    std::unique_ptr<Table> table_;
};

}  // namespace toll::maps
