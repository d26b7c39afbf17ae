#pragma once

// Boost.Container's containers, by allocator.

#include "word_counters.hpp"

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/map.hpp>
#include <boost/container/vector.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace toll::count_words {

template <template <class> class Allocator>
struct BoostMap {
    using type = boost::container::map<std::string, int, std::less<>, Allocator<Node>>;
};
template <template <class> class Allocator>
struct BoostMultimap {
    using type = boost::container::multimap<std::string, int, std::less<>, Allocator<Node>>;
};
template <template <class> class Allocator>
struct BoostFlatMap {
    static constexpr std::size_t most_group = most_of_slow;
    using type = boost::container::flat_map<std::string, int, std::less<>, Allocator<Pair>>;
};
template <template <class> class Allocator>
struct BoostVector {
    using type = boost::container::vector<Pair, Allocator<Pair>>;
};
template <template <class> class Allocator>
struct BoostDequeBack {
    using type = boost::container::deque<Pair, Allocator<Pair>>;
};
template <template <class> class Allocator>
struct BoostDequeFront : BoostDequeBack<Allocator> {
    static constexpr bool at_front = true;
};

}  // namespace toll::count_words
