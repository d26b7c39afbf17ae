#include "shared/data_vector.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

using toll::DataVector;

static_assert(std::is_same_v<DataVector<int>::iterator, int*>);
static_assert(std::is_nothrow_move_constructible_v<DataVector<int>>);

TEST_CASE("elements start as zero and keep their values while the vector grows") {
    DataVector<int> numbers(3);
    CHECK(std::all_of(numbers.begin(), numbers.end(), [](int n) { return n == 0; }));
    for (int i = 0; i < 100; ++i) { numbers.push_back(i); }
    CHECK(numbers.size() == 103);
    CHECK(numbers.capacity() >= 103);
    CHECK(numbers[102] == 99);
    CHECK(std::accumulate(numbers.begin(), numbers.end(), 0) == 4950);
}

TEST_CASE("a copy is apart, a moved-from vector is empty") {
    DataVector<std::string> words{"one", "two"};
    DataVector<std::string> copy = words;
    copy[0] = "changed, and longer than what fits in place";
    CHECK(words[0] == "one");
    DataVector<std::string> moved = std::move(copy);
    CHECK(moved.size() == 2);
    CHECK(copy.empty());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what is promised
    copy = DataVector<std::string>{"again"};
    CHECK(copy.size() == 1);
    words = moved;
    CHECK(words[0] == moved[0]);
    words = std::move(moved);
    CHECK(words[1] == "two");
}

TEST_CASE("an element that is pushed may be one of its own") {
    DataVector<std::string> words{"a long enough word to lie on the heap"};
    for (int i = 0; i < 10; ++i) { words.push_back(words[0]); }
    CHECK(std::count(words.begin(), words.end(), words[0]) == 11);
}

TEST_CASE("clear keeps the room, types that only move are fine") {
    DataVector<std::unique_ptr<int>> pointers;
    CHECK(pointers.empty());
    pointers.reserve(10);
    const auto* place = pointers.data();
    for (int i = 0; i < 10; ++i) { pointers.push_back(std::make_unique<int>(i)); }
    CHECK(pointers.data() == place);
    CHECK(*pointers[9] == 9);
    pointers.clear();
    CHECK(std::as_const(pointers).size() == 0);
    CHECK(pointers.capacity() == 10);
}
