#include "../all_map_workloads.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

/// What one writes by hand: pairs in a vector, kept in the order of their keys and searched by halves.
template <class Key>
class SortedVector {
public:
    using Pairs = std::vector<std::pair<Key, toll::maps::Value>>;

    [[nodiscard]] auto begin() const noexcept { return pairs_.begin(); }
    [[nodiscard]] auto end() const noexcept { return pairs_.end(); }
    [[nodiscard]] auto find(const auto& key) const {
        const auto at = place_of(key);
        return at != end() && at->first == key ? at : end();
    }
    auto emplace(Key key, toll::maps::Value value) {
        const auto at = place_of(key);
        if (at != end() && at->first == key) { return std::pair(at, false); }
        const auto made = pairs_.emplace(at, std::move(key), value);
        return std::pair(typename Pairs::const_iterator(made), true);
    }
    std::size_t erase(const Key& key) {
        const auto at = find(key);
        if (at == end()) { return 0; }
        pairs_.erase(at);
        return 1;
    }
    void take(const Pairs& sorted) { pairs_ = sorted; }

private:
    [[nodiscard]] auto place_of(const auto& key) const {
        return std::lower_bound(pairs_.begin(), pairs_.end(), key,
                                [](const auto& pair, const auto& wanted) { return pair.first < wanted; });
    }
    Pairs pairs_;
};

struct SortedVectorMap {
    static constexpr bool moves_half = true;
    template <class Key>
    using type = SortedVector<Key>;
    static void take(auto& map, const auto& sorted) { map.take(sorted); }
};

TOLL_MAP_CONTENDER(sorted_vector, SortedVectorMap);
