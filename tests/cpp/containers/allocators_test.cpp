#include "shared/counting_allocator.hpp"
#include "shared/pool_allocator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using toll::counting_allocator;
using toll::pool_allocator;

/// Strings beyond the small-string buffer, so that a leak sanitizer sees an element that nobody destroyed.
std::string element(int number) {
    return "an element that is too long for the string itself: " + std::to_string(number);
}

template <template <class> class A, class K>
using PairOf = A<std::pair<const K, int>>;

/// How one kind of container takes the element number i, and what it then holds in order of size.
template <class C>
void add(C& container, int number) {
    if constexpr (requires { typename C::mapped_type; }) {
        container.emplace(element(number), number);
    } else if constexpr (std::is_same_v<typename C::value_type, char>) {
        container.push_back(static_cast<char>('a' + number % 26));
    } else if constexpr (requires { container.push_back(element(number)); }) {
        container.push_back(element(number));
    } else if constexpr (requires { container.push_front(element(number)); }) {
        container.push_front(element(number));
    } else {
        container.insert(element(number));
    }
}

template <class C>
C filled(int count) {
    C container;
    for (int i = 0; i < count; ++i) { add(container, i); }
    return container;
}

template <class C>
std::ptrdiff_t length(const C& container) {
    return std::distance(container.begin(), container.end());
}

/// CHECK as a function: its macro in 26 kinds of container takes the compiler and the analyser a minute more.
void expect(bool right, int line) {
    CHECK_MESSAGE(right, "line " << line);
}

/// Copy, move, swap and clear, each followed by more elements on both sides.
template <class C>
void exercise() {
    C first = filled<C>(100);
    C copy = first;
    expect(copy == first, __LINE__);
    expect(!(copy.get_allocator() == first.get_allocator()), __LINE__);
    add(copy, 100);
    expect(length(copy) == 101, __LINE__);
    expect(length(first) == 100, __LINE__);

    const auto owner = first.get_allocator();
    C moved = std::move(first);
    expect(moved.get_allocator() == owner, __LINE__);
    expect(length(moved) == 100, __LINE__);
    first = C();  // NOLINT(bugprone-use-after-move): assigned to
    add(first, 7);

    C assigned = filled<C>(3);
    assigned = moved;  // keeps its own allocator
    expect(!(assigned.get_allocator() == moved.get_allocator()), __LINE__);
    expect(assigned == moved, __LINE__);
    assigned = std::move(copy);
    expect(length(assigned) == 101, __LINE__);

    using std::swap;
    swap(assigned, moved);
    expect(length(assigned) == 100, __LINE__);
    expect(length(moved) == 101, __LINE__);
    expect(assigned.get_allocator() == owner, __LINE__);
    for (int round = 0; round < 3; ++round) {
        assigned.clear();
        for (int i = 0; i < 50; ++i) { add(assigned, i); }
    }
    expect(length(assigned) == 50, __LINE__);
    expect(length(first) == 1, __LINE__);
}

template <template <class> class A>
void exercise_every_container() {
    using Text = std::string;
    exercise<std::vector<Text, A<Text>>>();
    exercise<std::deque<Text, A<Text>>>();
    exercise<std::list<Text, A<Text>>>();
    exercise<std::forward_list<Text, A<Text>>>();
    exercise<std::map<Text, int, std::less<>, PairOf<A, Text>>>();
    exercise<std::multimap<Text, int, std::less<>, PairOf<A, Text>>>();
    exercise<std::set<Text, std::less<>, A<Text>>>();
    exercise<std::multiset<Text, std::less<>, A<Text>>>();
    exercise<std::unordered_map<Text, int, std::hash<Text>, std::equal_to<>, PairOf<A, Text>>>();
    exercise<std::unordered_multimap<Text, int, std::hash<Text>, std::equal_to<>, PairOf<A, Text>>>();
    exercise<std::unordered_set<Text, std::hash<Text>, std::equal_to<>, A<Text>>>();
    exercise<std::unordered_multiset<Text, std::hash<Text>, std::equal_to<>, A<Text>>>();
    exercise<std::basic_string<char, std::char_traits<char>, A<char>>>();
}

template <class A>
constexpr bool propagates_as_documented() {
    using Traits = std::allocator_traits<A>;
    return !Traits::propagate_on_container_copy_assignment::value &&
           Traits::propagate_on_container_move_assignment::value &&
           Traits::propagate_on_container_swap::value && !Traits::is_always_equal::value;
}
static_assert(propagates_as_documented<pool_allocator<int>>());
static_assert(propagates_as_documented<counting_allocator<int>>());
static_assert(std::is_nothrow_copy_constructible_v<pool_allocator<int>>);
static_assert(std::is_nothrow_constructible_v<pool_allocator<int>, const pool_allocator<std::string>&>);
static_assert(std::is_nothrow_constructible_v<counting_allocator<int>, counting_allocator<std::string>&>);

template <std::size_t size, std::size_t alignment>
struct alignas(alignment) Block {
    std::array<unsigned char, size> bytes;
};

/// Blocks that overlap or lie astray change each other's bytes.
template <class T>
void fill_and_check(pool_allocator<T> pool) {
    std::vector<T*> blocks;
    bool aligned = true;
    for (unsigned i = 0; i < 100; ++i) {
        T* block = pool.allocate(1);
        aligned = aligned && reinterpret_cast<std::uintptr_t>(block) % alignof(T) == 0;
        ::new (static_cast<void*>(block)) T{};
        block->bytes.fill(static_cast<unsigned char>(i));
        blocks.push_back(block);
    }
    bool untouched = true;
    for (unsigned i = 0; i < 100; ++i) {
        const auto& bytes = blocks[i]->bytes;
        untouched = untouched && std::all_of(bytes.begin(), bytes.end(), [&](unsigned char byte) {
                        return byte == static_cast<unsigned char>(i);
                    });
        if (i % 2 == 0) { pool.deallocate(std::exchange(blocks[i], nullptr), 1); }
    }
    for (T* block : blocks) {
        if (block != nullptr) { pool.deallocate(block, 1); }
    }
    CHECK(aligned);
    CHECK(untouched);
}

}  // namespace

TEST_CASE("the pool serves every standard container") {
    exercise_every_container<pool_allocator>();
}

TEST_CASE("the counting allocator serves every standard container") {
    exercise_every_container<counting_allocator>();
}

/// The requirements of an allocator, [allocator.requirements]: what a container asks beyond allocate().
template <template <class> class A>
void compare_with_rebound_copy() {
    const A<int> one;
    const A<double> rebound(one);
    const A<double> other;
    CHECK(one == rebound);
    CHECK(rebound == one);
    CHECK(A<int>(rebound) == one);
    CHECK(one != other);
    CHECK(other != one);
}

TEST_CASE("copies for other types equal what they were made from") {
    compare_with_rebound_copy<pool_allocator>();
    compare_with_rebound_copy<counting_allocator>();
}

TEST_CASE("lists and maps hand nodes to each other") {
    std::list<std::string, pool_allocator<std::string>> left;
    std::list<std::string, pool_allocator<std::string>> right(left.get_allocator());
    for (int i = 0; i < 40; ++i) { (i % 2 == 0 ? left : right).push_back(element(i)); }
    left.splice(left.begin(), right);
    CHECK(left.size() == 40);
    right.push_back(element(1));

    using Map = std::map<std::string, int, std::less<>, PairOf<pool_allocator, std::string>>;
    Map from = filled<Map>(40);
    Map into(from.get_allocator());
#if !defined(_GLIBCXX_RELEASE) || _GLIBCXX_RELEASE >= 14
    // Before, insert(node) never destroys the node handle's allocator (GCC bug 114401): its pool would leak.
    into.insert(from.extract(from.begin()));
#endif
    into.merge(from);
    CHECK(into.size() == 40);
    Map elsewhere;  // another pool: elements move one by one
    elsewhere = Map(std::move(into), elsewhere.get_allocator());
    CHECK(elsewhere.size() == 40);
}

TEST_CASE("blocks have their type's alignment and do not overlap") {
    const pool_allocator<int> pool;
    fill_and_check<Block<1, 1>>(pool);
    fill_and_check<Block<3, 1>>(pool);
    fill_and_check<Block<24, 8>>(pool);
    fill_and_check<Block<48, 8>>(pool);
    fill_and_check<Block<48, 16>>(pool);  // shares its list with the one before
    fill_and_check<Block<48, 8>>(pool);
    fill_and_check<Block<64, 64>>(pool);
    fill_and_check<Block<64, 8>>(pool);
    fill_and_check<Block<100, 4096>>(pool);
    fill_and_check<Block<512, 8>>(pool);
    fill_and_check<Block<513, 8>>(pool);
    fill_and_check<Block<10'000, 32>>(pool);
}

TEST_CASE("several over-aligned objects pass through") {
    using Wide = Block<64, 64>;
    pool_allocator<Wide> pool;
    Wide* blocks = pool.allocate(3);
    CHECK(reinterpret_cast<std::uintptr_t>(blocks) % 64 == 0);
    CHECK(pool.counts() == toll::PoolCounts{1, 192, 192});
    pool.deallocate(blocks, 3);
    CHECK(pool.counts() == toll::PoolCounts{1, 192, 0});
}

/// Nodes of over-aligned elements are over-aligned themselves, and so are tables of several.
template <template <class> class A>
bool holds_over_aligned_elements() {
    using Wide = Block<64, 64>;
    std::list<Wide, A<Wide>> list(40);
    std::map<int, Wide, std::less<>, A<std::pair<const int, Wide>>> map;
    std::unordered_map<int, Wide, std::hash<int>, std::equal_to<>, A<std::pair<const int, Wide>>> hashed;
    for (int i = 0; i < 40; ++i) {
        map[i] = Wide{};
        hashed[i] = Wide{};
    }
    const std::vector<Wide, A<Wide>> vector(3);
    const auto aligned = [](const Wide& wide) { return reinterpret_cast<std::uintptr_t>(&wide) % 64 == 0; };
    const auto aligned_value = [&](const auto& pair) { return aligned(pair.second); };
    return std::all_of(list.begin(), list.end(), aligned) &&
           std::all_of(map.begin(), map.end(), aligned_value) &&
           std::all_of(hashed.begin(), hashed.end(), aligned_value) &&
           std::all_of(vector.begin(), vector.end(), aligned);
}

TEST_CASE("containers of over-aligned elements") {
    CHECK(holds_over_aligned_elements<pool_allocator>());
    CHECK(holds_over_aligned_elements<counting_allocator>());
}

TEST_CASE("a container moved into itself can be used") {
    using List = std::list<std::string, pool_allocator<std::string>>;
    List list = filled<List>(20);
    List& same = list;
    list = std::move(same);
    list.clear();
    for (int i = 0; i < 20; ++i) { list.push_back(element(i)); }
    CHECK(list == filled<List>(20));

    using Hashed = std::unordered_map<std::string, int, std::hash<std::string>, std::equal_to<>,
                                      PairOf<counting_allocator, std::string>>;
    Hashed hashed = filled<Hashed>(20);
    Hashed& again = hashed;
    hashed = std::move(again);
    hashed.clear();
    add(hashed, 1);
    CHECK(hashed.size() == 1);
}

TEST_CASE("a container may die in another thread than the one that filled it") {
    using Map = std::map<std::string, int, std::less<>, PairOf<pool_allocator, std::string>>;
    Map map = filled<Map>(100);
    std::size_t found = 0;
    std::thread([there = std::move(map), &found]() mutable {
        there.erase(there.begin());
        add(there, 100);
        found = there.size();
    }).join();
    CHECK(found == 100);
}

TEST_CASE("groups of 16, after one group as large as was asked for") {
    std::list<int, pool_allocator<int>> list;
    for (int i = 0; i < 17; ++i) { list.push_back(i); }
    CHECK(list.get_allocator().counts().calls == 2);
    list.clear();
    for (int i = 0; i < 32; ++i) { list.push_back(i); }
    CHECK(list.get_allocator().counts().calls == 2);

    std::list<int, pool_allocator<int>> large;
    large.get_allocator().preallocate(1000);
    for (int i = 0; i < 1000; ++i) { large.push_back(i); }
    CHECK(large.get_allocator().counts().calls == 1);
    for (int i = 0; i < 17; ++i) { large.push_back(i); }
    CHECK(large.get_allocator().counts().calls == 3);
}

TEST_CASE("a container that is cleared and filled again gets its blocks in the first order") {
    pool_allocator<std::uint64_t> pool;
    std::vector<std::uint64_t*> first(40);
    for (auto& block : first) { block = pool.allocate(1); }
    for (std::size_t i = 0; i < first.size(); ++i) { pool.deallocate(first[i * 7 % first.size()], 1); }
    std::vector<std::uint64_t*> again(40);
    for (auto& block : again) { block = pool.allocate(1); }
    CHECK(again == first);
    CHECK(pool.counts().calls == 3);

    // One that is still there keeps the others as they came back: the latest first.
    pool.deallocate(again[3], 1);
    pool.deallocate(again[30], 1);
    CHECK(pool.allocate(1) == again[30]);
    CHECK(pool.allocate(1) == again[3]);
    for (std::uint64_t* block : again) { pool.deallocate(block, 1); }

    // No block is given out twice where the groups are walked through a second time.
    std::set<std::uint64_t*> unlike;
    for (int i = 0; i < 100; ++i) { unlike.insert(pool.allocate(1)); }
    CHECK(unlike.size() == 100);
    CHECK(pool.counts().calls == 7);
    for (std::uint64_t* block : unlike) { pool.deallocate(block, 1); }
}

TEST_CASE("a pool that is exhausted throws, and goes on once blocks came back") {
    pool_allocator<std::uint64_t> pool(1000);
    std::vector<std::uint64_t*> blocks;
    CHECK_THROWS_AS(for (int i = 0; i < 1000; ++i) { blocks.push_back(pool.allocate(1)); }, std::bad_alloc);
    CHECK(blocks.size() >= 64);
    CHECK(pool.counts().held_bytes <= 1000);
    CHECK_THROWS_AS((void)pool.allocate(100), std::bad_alloc);
    CHECK_THROWS_AS((void)pool.allocate(~std::size_t{0} / 2), std::bad_array_new_length);
    pool.preallocate(~std::size_t{0} / 2);
    CHECK_THROWS_AS((void)pool.allocate(1), std::bad_array_new_length);
    pool.preallocate(16);

    std::uint64_t* last = blocks.back();
    pool.deallocate(last, 1);
    CHECK(pool.allocate(1) == last);
    for (std::uint64_t* block : blocks) { pool.deallocate(block, 1); }

    // A container keeps what it had, and its copy has the same limit.
    std::map<int, int, std::less<>, pool_allocator<std::pair<const int, int>>> map(
        pool_allocator<std::pair<const int, int>>(2000));
    CHECK_THROWS_AS(for (int i = 0; i < 1000; ++i) { map.emplace(i, i); }, std::bad_alloc);
    const std::size_t held = map.size();
    CHECK(held > 16);
    auto copy = map;
    CHECK(copy == map);
    CHECK_THROWS_AS(for (int i = 0; i < 1000; ++i) { copy.emplace(-1 - i, i); }, std::bad_alloc);
}

TEST_CASE("an element whose constructor throws gives its block back") {
    struct Refuses {
        explicit Refuses(bool refuse) {
            if (refuse) { throw std::runtime_error("no"); }
        }
    };
    std::list<Refuses, pool_allocator<Refuses>> list;
    for (int i = 0; i < 1000; ++i) { CHECK_THROWS_AS(list.emplace_back(true), std::runtime_error); }
    list.emplace_back(false);
    CHECK(list.get_allocator().counts().calls == 1);
}

TEST_CASE("calls and bytes are counted exactly") {
    std::vector<std::uint64_t, counting_allocator<std::uint64_t>> vector;
    vector.reserve(10);
    vector.reserve(100);
    CHECK(vector.get_allocator().counts() == toll::AllocatorCounts{2, 880, 1, 800, 880});
    const auto copy = vector;
    CHECK(copy.get_allocator().counts() == toll::AllocatorCounts{});

    std::list<int, counting_allocator<int>> list;
    for (int i = 0; i < 1000; ++i) { list.push_back(i); }
    list.clear();
    const toll::AllocatorCounts counts = list.get_allocator().counts();
    CHECK(counts.calls == 1000);
    CHECK(counts.freed == 1000);
    CHECK(counts.live_bytes == 0);
    CHECK(counts.peak_bytes == counts.bytes);
    CHECK(counts.bytes % 1000 == 0);
}

TEST_CASE("what could not be allocated is not counted") {
    counting_allocator<std::uint64_t> counting;
    CHECK_THROWS_AS((void)counting.allocate(~std::size_t{0} / 2), std::bad_array_new_length);
    CHECK(counting.counts() == toll::AllocatorCounts{});

    // The limit holds for groups that were asked for as well; smaller ones then still fit.
    pool_allocator<std::uint64_t> pool(1000);
    pool.preallocate(1000);
    CHECK_THROWS_AS((void)pool.allocate(1), std::bad_alloc);
    CHECK(pool.counts() == toll::PoolCounts{});
    pool.preallocate(16);
    std::uint64_t* block = pool.allocate(1);
    CHECK(pool.counts().calls == 1);
    pool.deallocate(block, 1);
}

TEST_CASE("a container that was moved from can be used, and takes nothing from the other") {
    using List = std::list<std::string, pool_allocator<std::string>>;
    List from = filled<List>(20);
    const List into = std::move(from);
    from.clear();  // NOLINT(bugprone-use-after-move): what the standard allows
    for (int i = 0; i < 20; ++i) { from.push_back(element(i)); }
    CHECK(from == into);
}
