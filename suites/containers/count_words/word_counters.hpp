#pragma once

// The ways in which a container counts words. Where a container's allocator can be chosen, it is taken as a
// template over the allocator (`Family`), so that the same code runs with the default one, with a pool, and
// with one that counts.

#include "../shared/counting_allocator.hpp"
#include "../shared/text_hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace toll::count_words {

using Pair = std::pair<std::string, int>;        // what sequences hold
using Node = std::pair<const std::string, int>;  // what maps hold

using WordHash = TextHash;

/// The same hash, which tells Boost's open-addressing containers that each bit of a word changes about half
/// of its own: they then do not mix it once more. That is so for the standard libraries' hashes of texts,
/// which have no way to say it; to other containers it says nothing.
struct AvalanchingWordHash : WordHash {
    using is_avalanching = void;
};

/// What all of them do alike.
template <class Container>
class Held {
public:
    [[nodiscard]] std::size_t size() const noexcept { return container_.size(); }
    void clear() { container_.clear(); }
    template <class Visit>
    void each(Visit&& visit) const {
        for (const auto& [word, times] : container_) { visit(word, times); }
    }
    /// Calls that the container's allocator made or counted so far.
    [[nodiscard]] std::uint64_t allocator_calls() const
        requires requires(const Container& container) { container.get_allocator().counts().calls; }
    {
        return container_.get_allocator().counts().calls;
    }
    /// The same of one that keeps keys and values in a sequence each.
    [[nodiscard]] std::uint64_t allocator_calls() const
        requires requires(const Container& container) {
            container.keys().get_allocator().counts().calls;
            container.values().get_allocator().counts().calls;
        }
    {
        return container_.keys().get_allocator().counts().calls +
               container_.values().get_allocator().counts().calls;
    }

protected:
    template <class... Arguments>
    explicit Held(Arguments&&... arguments) : container_(std::forward<Arguments>(arguments)...) {}
    Container container_;
};

/// A map with its allocator or memory resource given; `View` is what it takes for look-ups beside its keys.
template <class Container, class View = std::string_view>
class KeyedIn : public Held<Container> {
public:
    bool count(std::string_view word) {
        const auto found = this->container_.find(View(word.data(), word.size()));
        if (found == this->container_.end()) { return false; }
        if constexpr (requires { found.value(); }) {
            ++found.value();
        } else {
            ++found->second;
        }
        return true;
    }
    void add(std::string_view word) { this->container_.emplace(std::string(word), 1); }

protected:
    template <class... Arguments>
    explicit KeyedIn(Arguments&&... arguments) : Held<Container>(std::forward<Arguments>(arguments)...) {}
};

/// The family's own kind of string_view where it names one.
template <class Family>
struct LookUp {
    using View = std::string_view;
};
template <class Family>
    requires requires { typename Family::View; }
struct LookUp<Family> {
    using View = typename Family::View;
};

/// The largest group of containers whose pass would take minutes with the next larger one.
inline constexpr std::size_t most_of_slow = 10'000;
inline constexpr const char* moves_half = "moves half of its elements for every new word";

/// The family's own limit where it names one.
template <class Family>
constexpr std::size_t most_group_of() {
    if constexpr (requires { Family::most_group; }) {
        return Family::most_group;
    } else {
        return std::numeric_limits<std::size_t>::max();
    }
}

/// A map that makes its allocator itself.
template <template <template <class> class> class Family, template <class> class Allocator = std::allocator>
class Keyed : public KeyedIn<typename Family<Allocator>::type, typename LookUp<Family<Allocator>>::View> {
public:
    static constexpr std::size_t most_group = most_group_of<Family<Allocator>>();
    static constexpr const char* slow_because = moves_half;

    explicit Keyed(std::size_t group) {
        // The document's one-shot preallocation: a pool's first group holds all that fits the container.
        if constexpr (requires { this->container_.get_allocator().preallocate(group); }) {
            auto allocator = this->container_.get_allocator();
            allocator.preallocate(group);
        }
    }
    void clear() {
        if constexpr (requires { Family<Allocator>::clear(this->container_); }) {
            Family<Allocator>::clear(this->container_);
        } else {
            this->container_.clear();
        }
    }
};

/// A sequence without an order: every look-up begins at the front.
template <template <template <class> class> class Family, template <class> class Allocator = std::allocator>
class Linear : public Held<typename Family<Allocator>::type> {
public:
    static constexpr std::size_t most_group = most_of_slow;
    static constexpr const char* slow_because = "looks at every element for every word";

    explicit Linear(std::size_t group) {
        if constexpr (requires { this->container_.reserve(group); }) { this->container_.reserve(group); }
    }
    bool count(std::string_view word) {
        const auto found = std::find_if(this->container_.begin(), this->container_.end(),
                                        [&](const auto& pair) { return pair.first == word; });
        if (found == this->container_.end()) { return false; }
        ++found->second;
        return true;
    }
    void add(std::string_view word) {
        if constexpr (requires { Family<Allocator>::at_front; }) {
            this->container_.emplace_front(std::string(word), 1);
        } else if constexpr (requires { this->container_.emplace_back(std::string(word), 1); }) {
            this->container_.emplace_back(std::string(word), 1);
        } else {
            this->container_.emplace(std::string(word), 1);  // has no ends: a free place is found for it
        }
    }
};

/// A sequence kept in order of its words: look-ups halve it, additions move what comes behind.
template <template <template <class> class> class Family, template <class> class Allocator = std::allocator>
class Sorted : public Held<typename Family<Allocator>::type> {
public:
    static constexpr std::size_t most_group = most_of_slow;
    static constexpr const char* slow_because = moves_half;

    explicit Sorted(std::size_t group) { this->container_.reserve(group); }
    bool count(std::string_view word) {
        const auto found = place_of(word);
        if (found == this->container_.end() || found->first != word) { return false; }
        ++found->second;
        return true;
    }
    void add(std::string_view word) { this->container_.emplace(place_of(word), std::string(word), 1); }

private:
    auto place_of(std::string_view word) {
        return std::lower_bound(this->container_.begin(), this->container_.end(), word,
                                [](const auto& pair, std::string_view other) { return pair.first < other; });
    }
};

/// The contender with a counting allocator in place of the default one; itself where it has another.
template <class C>
struct Counted {
    using type = C;
};
template <template <template <template <class> class> class, template <class> class> class Way,
          template <template <class> class> class Family>
struct Counted<Way<Family, std::allocator>> {
    using type = Way<Family, counting_allocator>;
};

}  // namespace toll::count_words
