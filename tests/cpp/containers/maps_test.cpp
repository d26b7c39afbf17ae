#include "map_erase/workload.hpp"
#include "map_insert/workload.hpp"
#include "map_iterate/workload.hpp"
#include "map_lookup/workload.hpp"
#include "shared/counting_allocator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace toll::maps;

struct Standard {
    template <class Key>
    using type = std::map<Key, Value, std::less<>>;
};

/// Says that it took every element, and forgets one in ten.
template <class Key>
struct ForgetfulMap : std::map<Key, Value, std::less<>> {
    auto emplace(Key key, Value value) {
        const auto told = std::map<Key, Value, std::less<>>::emplace(std::move(key), value);
        if (value % 10 == 0) { this->erase(told.first); }
        return told;
    }
};
struct Forgetful {
    template <class Key>
    using type = ForgetfulMap<Key>;
};

/// Finds another element than the one that was asked for, now and then.
template <class Key>
struct MistakenMap : std::map<Key, Value, std::less<>> {
    using Base = std::map<Key, Value, std::less<>>;
    auto find(const auto& key) const {
        const auto at = Base::find(key);
        return at != Base::end() && at->second == 7 ? Base::begin() : at;
    }
};
struct Mistaken {
    template <class Key>
    using type = MistakenMap<Key>;
};

/// Has no erase but that by a key.
template <class Key>
struct ByKeyMap : std::map<Key, Value, std::less<>> {
    std::size_t erase(const Key& key) { return std::map<Key, Value, std::less<>>::erase(key); }
};
struct ByKey {
    template <class Key>
    using type = ByKeyMap<Key>;
};

/// Would move half of its elements for a new one.
struct Slow : Standard {
    static constexpr bool moves_half = true;
    static void take(auto& map, const auto& sorted) { map.insert(sorted.begin(), sorted.end()); }
};

template <class W>
W made(const std::vector<std::string_view>& words) {
    return W(toll::Arguments(W::parameters(), words));
}

template <class W>
void answers_rightly(const std::vector<std::string_view>& words) {
    W workload = made<W>(words);
    if constexpr (requires { workload.before_batch(); }) { workload.before_batch(); }
    CHECK(workload.run(1) == workload.expected(1));
    CHECK(workload.run(3) == workload.expected(3));
    if constexpr (requires { workload.after_batch(); }) { workload.after_batch(); }
    CHECK(workload.run(2) == workload.expected(2));
}

}  // namespace

TEST_CASE("maps: unlike elements have unlike keys, also those that are looked for in vain") {
    for (const KeyKind kind : {KeyKind::integer, KeyKind::aligned}) {
        const auto keys = keys_of<Integer>(kind, shuffled(0, 2000, 1));
        std::set<Integer> seen;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            seen.insert(keys[i]);
            CHECK((kind != KeyKind::aligned || keys[i] % 4096 == 0));
        }
        CHECK(seen.size() == 2000);
    }
    const auto texts = keys_of<Text>(KeyKind::string, shuffled(0, 2000, 1));
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < texts.size(); ++i) { seen.insert(texts[i]); }
    CHECK(seen.size() == 2000);
    CHECK(seen.begin()->size() == letters);
}

TEST_CASE("maps: the orders of use are unlike, and each is of all numbers") {
    const auto inserted = shuffled(0, 1000, 1);
    auto looked_for = shuffled(0, 1000, 3);
    CHECK(inserted != looked_for);
    std::sort(looked_for.begin(), looked_for.end());
    for (std::uint64_t i = 0; i < 1000; ++i) { CHECK(looked_for[i] == i); }
}

TEST_CASE("maps: every workload answers rightly for every kind of key, of one element and of many") {
    for (const std::string_view key : {"key=integer", "key=aligned", "key=string"}) {
        for (const std::string_view elements : {"elements=1", "elements=2", "elements=101"}) {
            for (const std::string_view found : {"found=hit", "found=miss", "found=half"}) {
                answers_rightly<toll::map_lookup::Workload<Standard>>({key, elements, found});
            }
            answers_rightly<toll::map_insert::Workload<Standard>>({key, elements});
            answers_rightly<toll::map_erase::Workload<Standard>>({key, elements});
            answers_rightly<toll::map_iterate::Workload<Standard>>({key, elements});
        }
    }
    answers_rightly<toll::map_lookup::Workload<Slow>>({"elements=20000", "key=string"});
}

TEST_CASE("maps: elements are taken out by their keys") {
    // By an iterator, tsl's maps and others search for the element behind it as well.
    answers_rightly<toll::map_erase::Workload<ByKey>>({"elements=100", "key=string"});
    answers_rightly<toll::map_erase::Workload<ByKey>>({"elements=100"});
}

TEST_CASE("maps: the standard map holds as much for a text as with the library's own hash") {
    // libstdc++ keeps the hash code beside a key unless the hash is fast, as one that cannot throw is to it.
    const auto bytes_for = [](auto map) {
        for (const char* const text : {"some", "few", "texts"}) { map.emplace(text, 1); }
        return map.get_allocator().counts().bytes;
    };
    using Allocator = toll::counting_allocator<std::pair<const Text, Value>>;
    using Ours = std::unordered_map<Text, Value, StdHash<Text>, std::equal_to<>, Allocator>;
    using Usual = std::unordered_map<Text, Value, std::hash<Text>, std::equal_to<>, Allocator>;
    CHECK(bytes_for(Ours()) == bytes_for(Usual()));
}

TEST_CASE("maps: what is found, and how much memory it takes") {
    Session<Standard> session(
        toll::Arguments(Session<Standard>::parameters(), std::vector<std::string_view>{"elements=1000"}));
    session.fill();
    Table& table = session.table();
    CHECK(table.all() == Found{1000, 500'500});
    table.draw(Wanted::hit, Order::shuffled, 1000, 1);  // each element once
    CHECK(table.expected(0) == Found{1000, 500'500});
    CHECK(table.look_up(0) == table.expected(0));
    table.draw(Wanted::hit, Order::inserted, 1500, 1);  // and half of them once more
    CHECK(table.expected(0).count == 1500);
    CHECK(table.look_up(0) == table.expected(0));
    table.draw(Wanted::miss, Order::shuffled, 1000, 1);
    CHECK(table.look_up(0) == Found{});
    table.draw(Wanted::half, Order::shuffled, 1000, 1);
    CHECK(table.expected(0).count > 400);
    CHECK(table.expected(0).count < 600);
    CHECK(table.look_up(0) == table.expected(0));
    table.draw(Wanted::half, Order::shuffled, 700, 3);  // passes of their own keys
    for (const std::size_t pass : {0U, 1U, 2U}) { CHECK(table.look_up(pass) == table.expected(pass)); }
    CHECK(table.expected(0).sum != table.expected(1).sum);
    // A key, a value, three links and a colour: 48 bytes asked for. Some mallocs are not glibc's.
    if (const auto bytes = table.bytes_per_element()) {
        CHECK(*bytes >= 48);
        CHECK(*bytes < 96);
    }
}

TEST_CASE("maps: a map that forgets, or finds what was not asked for, is found out") {
    CHECK_THROWS_AS(made<toll::map_iterate::Workload<Forgetful>>({"elements=100"}), toll::WrongAnswer);
    auto workload = made<toll::map_lookup::Workload<Mistaken>>({"elements=100"});
    CHECK(workload.run(1) != workload.expected(1));
}

TEST_CASE("maps: what cannot be asked for is refused with a sentence") {
    using LookUp = toll::map_lookup::Workload<Standard>;
    CHECK_THROWS_WITH_AS(made<LookUp>({"key=text"}), "key is integer, aligned or string, not 'text'",
                         toll::UsageError);
    CHECK_THROWS_WITH_AS(made<LookUp>({"found=some"}), "found is hit, miss or half, not 'some'",
                         toll::UsageError);
    CHECK_THROWS_AS(made<LookUp>({"order=sorted"}), toll::UsageError);
    CHECK_THROWS_AS(made<LookUp>({"elements=0"}), toll::UsageError);
    CHECK_THROWS_WITH_AS(made<toll::map_insert::Workload<Slow>>({"elements=10001"}),
                         doctest::Contains("ask for 10000 or less"), toll::Unsupported);
    CHECK_THROWS_AS(made<toll::map_erase::Workload<Slow>>({"elements=10001"}), toll::Unsupported);
    answers_rightly<toll::map_insert::Workload<Slow>>({"elements=100"});
}
