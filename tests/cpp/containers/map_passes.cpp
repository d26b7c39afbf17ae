// A pass over a map, and two of them one after the other: tests/cpp/arrays/test_measured_loops.py looks at
// the code.
#include "suites/containers/shared/map_table.hpp"

#include <cstdint>
#include <utility>

namespace few {

using namespace toll::maps;

/// Four elements in a row: so plain that a compiler sees that nothing of them changes between two passes.
template <class Key>
struct Few {
    using Pair = std::pair<Key, Value>;
    [[nodiscard]] const Pair* begin() const noexcept { return pairs; }
    [[nodiscard]] const Pair* end() const noexcept { return pairs + 4; }
    [[nodiscard]] const Pair* find(const auto& key) const noexcept {
        const Pair* at = begin();
        while (at != end() && at->first != key) { ++at; }
        return at;
    }
    std::pair<const Pair*, bool> emplace(Key /*key*/, Value /*value*/) noexcept { return {pairs, true}; }
    std::uint64_t erase(const Key& /*key*/) noexcept { return 1; }
    Pair pairs[4];
};
struct Plain {
    template <class Key>
    using type = Few<Key>;
};
using PlainTable = TableOf<Plain, Integer>;

}  // namespace few

[[gnu::noinline]] std::uint64_t measured_all_once(const few::PlainTable& table) {
    return table.all().sum;
}
[[gnu::noinline]] std::uint64_t measured_all_twice(const few::PlainTable& table) {
    return table.all().sum + table.all().sum;
}
