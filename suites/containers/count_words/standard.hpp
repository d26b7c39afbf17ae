#pragma once

// The standard library's containers, by allocator.

#include "word_counters.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace toll::count_words {

template <template <class> class Allocator>
struct Map {
    using type = std::map<std::string, int, std::less<>, Allocator<Node>>;
};
template <template <class> class Allocator>
struct Multimap {
    using type = std::multimap<std::string, int, std::less<>, Allocator<Node>>;
};
template <template <class> class Allocator>
struct UnorderedMap {
    using type = std::unordered_map<std::string, int, WordHash, std::equal_to<>, Allocator<Node>>;
};
template <template <class> class Allocator>
struct UnorderedMultimap {
    using type = std::unordered_multimap<std::string, int, WordHash, std::equal_to<>, Allocator<Node>>;
};
template <template <class> class Allocator>
struct Vector {
    using type = std::vector<Pair, Allocator<Pair>>;
};
template <template <class> class Allocator>
struct DequeBack {
    using type = std::deque<Pair, Allocator<Pair>>;
};
template <template <class> class Allocator>
struct DequeFront : DequeBack<Allocator> {
    static constexpr bool at_front = true;
};

}  // namespace toll::count_words
