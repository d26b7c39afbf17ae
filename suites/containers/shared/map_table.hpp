#pragma once

// What the map workloads do to a map: the timed loops, compiled once for each contender and type of key.

#include "heap_in_use.hpp"
#include "map_keys.hpp"

#include <toll/keep.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace toll::maps {

using Value = std::uint64_t;

/// What a pass of look-ups came to.
struct Found {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;  // of the values
    friend bool operator==(const Found&, const Found&) = default;
};

/// Which of the keys looked up are in the map.
enum class Wanted { hit, miss, half };

/// In which order elements are looked up.
enum class Order { shuffled, inserted };

/// A contender's map with its elements, as the workloads drive it. Element number i has the value i + 1;
/// elements are inserted, looked up and erased in unlike shuffled orders, unless the first is asked for.
class Table {
public:
    Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    virtual ~Table() = default;
    /// Puts all elements into the map, which stays. Not timed.
    virtual void fill() = 0;
    /// malloc's bytes for the map that fill() filled, divided by its elements.
    [[nodiscard]] virtual std::optional<double> bytes_per_element() const = 0;
    /// Draws the keys of `passes` passes of `look_ups` each. Not timed.
    virtual void draw(Wanted wanted, Order order, std::size_t look_ups, std::size_t passes) = 0;
    [[nodiscard]] virtual Found expected(std::size_t pass) const = 0;  ///< of look_up(), after draw()
    [[nodiscard]] virtual Found look_up(std::size_t pass) const = 0;   ///< timed: all keys of a pass
    /// Timed: a map that grows from empty to all elements and is kept. Returns how many were new to it.
    virtual std::uint64_t grow_another() = 0;
    virtual void drop_grown() noexcept = 0;
    /// Draws the keys that come in the place of those in the map. Not timed.
    virtual void draw_exchange() = 0;
    /// Timed: takes out each element by its key, and puts another one in after each. Returns how many came
    /// out and in: twice the elements. A later call brings those of the call before back.
    virtual std::uint64_t exchange() = 0;
    [[nodiscard]] virtual Found all() const = 0;  ///< timed: visits every element
};

/// Maps that move half of their elements for each new one are filled from sorted elements instead.
template <class F>
inline constexpr bool moves_half = requires { F::moves_half; };

/// A key as the map takes it for a look-up: a view of the family's own kind where it names one.
template <class F>
[[nodiscard]] auto looked_up(std::string_view key) noexcept {
    if constexpr (requires { typename F::View; }) {
        return typename F::View(key.data(), key.size());
    } else {
        return key;
    }
}
template <class F>
[[nodiscard]] Integer looked_up(Integer key) noexcept {
    return key;
}

template <class F, class Key>
class TableOf final : public Table {
public:
    using Map = typename F::template type<Key>;
    using List = KeyList<Key>;

    TableOf(KeyKind kind, std::size_t elements)
        : kind_(kind),
          elements_(elements),
          numbers_(shuffled(0, elements, 1)),
          keys_(keys_of<Key>(kind, numbers_)) {}

    void fill() override {
        const auto before = heap_in_use();
        map_ = std::make_unique<Map>();
        if constexpr (moves_half<F>) {
            std::vector<std::pair<Key, Value>> sorted;
            sorted.reserve(elements_);
            for (std::size_t i = 0; i < elements_; ++i) {
                sorted.emplace_back(Key(keys_[i]), numbers_[i] + 1);
            }
            std::sort(sorted.begin(), sorted.end());
            F::take(*map_, sorted);
        } else {
            (void)insert_all(*map_);
        }
        const auto after = heap_in_use();
        if (before && after && *after > *before) {
            bytes_per_element_ = static_cast<double>(*after - *before) / static_cast<double>(elements_);
        }
    }

    [[nodiscard]] std::optional<double> bytes_per_element() const override { return bytes_per_element_; }

    void draw(Wanted wanted, Order order, std::size_t look_ups, std::size_t passes) override {
        wanted_ = List(kind_);
        wanted_.reserve(look_ups * passes);
        look_ups_ = look_ups;
        expected_.assign(passes, {});
        Random coin(2);
        for (std::uint64_t round = 0; wanted_.size() < look_ups * passes; ++round) {
            const auto numbers = order == Order::inserted ? numbers_ : shuffled(0, elements_, 3 + round);
            for (const std::uint64_t number : numbers) {
                if (wanted_.size() == look_ups * passes) { break; }
                const bool hit = wanted == Wanted::hit || (wanted == Wanted::half && coin.next() % 2 == 0);
                Found& expected = expected_[wanted_.size() / look_ups];
                wanted_.add(hit ? number : number + elements_);
                expected.count += hit ? 1 : 0;
                expected.sum += hit ? number + 1 : 0;
            }
        }
    }

    [[nodiscard]] Found expected(std::size_t pass) const override { return expected_.at(pass); }

    [[nodiscard]] Found look_up(std::size_t pass) const override {
        clobber();  // the map may have changed since the last pass: no pass can stand for two
        const Map& map = *map_;
        const auto end = map.end();
        Found found;
        const std::size_t first = pass * look_ups_;
        for (std::size_t i = first; i < first + look_ups_; ++i) {
            const auto at = map.find(looked_up<F>(wanted_[i]));
            if (at != end) {
                ++found.count;
                found.sum += at->second;
            }
        }
        return found;
    }

    std::uint64_t grow_another() override {
        // The batch's length bounds what is kept; this is for a machine on which that would be too much.
        if (grown_.size() * elements_ > most_kept) { grown_.clear(); }
        return insert_all(grown_.emplace_back());
    }

    void drop_grown() noexcept override { grown_.clear(); }

    void draw_exchange() override {
        // Two orders for each half: what was put in first is not what is taken out first.
        for (std::size_t half = 0; half < 2; ++half) {
            const std::uint64_t first = half * elements_;
            Half& all = halves_[half];
            all.in = shuffled(first, elements_, 5 + half);
            all.in_keys = keys_of<Key>(kind_, all.in);
            all.out_keys = keys_of<Key>(kind_, shuffled(first, elements_, 7 + half));
        }
    }

    std::uint64_t exchange() override {
        Map& map = *map_;
        const List& out = halves_[out_].out_keys;
        const Half& in = halves_[1 - out_];
        out_ = 1 - out_;
        std::uint64_t done = 0;
        Key leaving{};  // one for all: a text is copied into it without an allocation
        for (std::size_t i = 0; i < elements_; ++i) {
            // By the key, which returns how many went: by an iterator some maps search for the next one.
            leaving = out[i];
            done += map.erase(std::as_const(leaving));
            done += map.emplace(Key(in.in_keys[i]), in.in[i] + 1).second ? 1 : 0;
        }
        return done;
    }

    [[nodiscard]] Found all() const override {
        clobber();
        Found found;
        for (const auto& [key, value] : *map_) {
            ++found.count;
            found.sum += value;
        }
        return found;
    }

private:
    static constexpr std::size_t most_kept = 8'000'000;  // elements

    struct Half {
        std::vector<std::uint64_t> in;
        List in_keys{KeyKind::integer};
        List out_keys{KeyKind::integer};
    };

    std::uint64_t insert_all(Map& map) const {
        std::uint64_t done = 0;
        for (std::size_t i = 0; i < elements_; ++i) {
            done += map.emplace(Key(keys_[i]), numbers_[i] + 1).second ? 1 : 0;
        }
        return done;
    }

    KeyKind kind_;
    std::size_t elements_;
    std::vector<std::uint64_t> numbers_;  // of the elements, in the order in which they are inserted
    List keys_;
    std::unique_ptr<Map> map_;
    std::optional<double> bytes_per_element_;
    List wanted_{kind_};
    std::size_t look_ups_ = 0;     // of a pass
    std::vector<Found> expected_;  // of each pass
    std::deque<Map> grown_;
    std::array<Half, 2> halves_;
    std::size_t out_ = 0;  // the half that is in the map
};

/// What a contender is: F::type<Key> is its map from keys to 64-bit values, with the standard containers'
/// find, emplace, erase by key, and iterators. F::take(map, sorted) fills one that says F::moves_half,
/// F::View is what it takes for look-ups of texts instead of std::string_view.
template <class F>
concept Family =
    requires(typename F::template type<Integer> integers, typename F::template type<Text> texts, Text text) {
        { integers.find(Integer{}) == integers.end() } -> std::convertible_to<bool>;
        { integers.emplace(Integer{}, Value{}).second } -> std::convertible_to<bool>;
        { texts.find(looked_up<F>(std::string_view())) == texts.end() } -> std::convertible_to<bool>;
        { texts.emplace(Text(), Value{}).second } -> std::convertible_to<bool>;
        { texts.erase(std::as_const(text)) } -> std::convertible_to<std::uint64_t>;
    };

template <Family F>
[[nodiscard]] std::unique_ptr<Table> make_table(KeyKind kind, std::size_t elements) {
    if (kind == KeyKind::string) { return std::make_unique<TableOf<F, Text>>(kind, elements); }
    return std::make_unique<TableOf<F, Integer>>(kind, elements);
}

}  // namespace toll::maps
