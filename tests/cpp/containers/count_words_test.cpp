#include "document_pool.hpp"
#include "pmr_containers.hpp"
#include "shared/pool_allocator.hpp"
#include "standard.hpp"
#include "workload.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace toll::count_words;

template <class Work>
std::string refusal(Work&& work) {
    try {
        work();
    } catch (const toll::Unsupported& why) { return why.what(); }
    return "";
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> found;
    const Words words(text, "text");
    words.each([&](std::string_view word) {
        found.emplace_back(word);
        return true;
    });
    CHECK(found.size() == words.size());
    return found;
}

template <class C>
Tally count(const Words& words, std::size_t group) {
    C counter(group);
    return pass(words, group, counter, [](const C&) {}, [] { return true; });
}

template <class... Cs>
void count_alike(const Words& words, std::size_t group) {
    const Tally expected = reference_answer(words, group).tally;
    const std::array<bool, sizeof...(Cs)> alike{(count<Cs>(words, group) == expected)...};
    for (std::size_t i = 0; i < alike.size(); ++i) { CHECK_MESSAGE(alike[i], "container " << i); }
}

template <class C>
double container_calls(std::string_view group) {
    const std::string argument = "group=" + std::string(group);
    const std::array<std::string_view, 2> given{argument, "background=0"};
    Workload<C> workload(toll::Arguments(Workload<C>::parameters(), given));
    CHECK(workload.run(1) == workload.expected(1));
    return workload.details().at("container_calls");
}

/// Forgets one word in a thousand.
class Forgetful : public Keyed<Map> {
public:
    using Keyed<Map>::Keyed;
    bool count(std::string_view word) { return ++calls_ % 1000 == 0 || Keyed<Map>::count(word); }

private:
    int calls_ = 0;
};

/// Holds other counts than were asked for, but only until it is cleared.
class Exaggerating : public Keyed<Map> {
public:
    using Keyed<Map>::Keyed;
    void clear() {
        Keyed<Map>::clear();
        cleared_ = true;
    }
    template <class Visit>
    void each(Visit&& visit) const {
        Keyed<Map>::each(
            [&](std::string_view word, int times) { visit(word, cleared_ ? times : times + 1); });
    }

private:
    bool cleared_ = false;
};

}  // namespace

TEST_CASE("the generated list has the document's numbers") {
    const std::string text = word_list({});
    const Words words(text, "list");
    std::map<std::string_view, int> unique;
    std::size_t letters = 0;
    std::size_t longest = 0;
    words.each([&](std::string_view word) {
        ++unique[word];
        letters += word.size();
        longest = std::max(longest, word.size());
        return true;
    });
    CHECK(words.size() == 40'743);
    CHECK(unique.size() == 1'409);
    CHECK(longest == 39);
    CHECK(static_cast<double>(letters) / 40'743 == doctest::Approx(6).epsilon(0.02));
    CHECK(word_list({}) == text);

    // Zipf's law among the twenty common words, which are nearly half of all.
    std::vector<int> counts;
    for (const auto& [word, count] : unique) { counts.push_back(count); }
    std::sort(counts.begin(), counts.end(), std::greater<>());
    for (const std::size_t rank : {2U, 5U, 20U}) {
        CHECK(counts[rank - 1] == doctest::Approx(counts[0] / static_cast<double>(rank)).epsilon(0.2));
    }
    CHECK(counts.back() * 4 > counts[20]);
    CHECK(list_for_group(1'000).words == 40'743);
    CHECK(list_for_group(10'000).unique == 14'090);
}

TEST_CASE("words are what stands between ASCII white space") {
    CHECK(words_of("  one\ttwo\r\nthree\v\ffour") == std::vector<std::string>{"one", "two", "three", "four"});
    CHECK(words_of("na\xC3\xAFve \xFF\xFE z\xC2\xA0y").size() == 3);
    const std::string gap(200'000, ' ');
    CHECK(words_of(gap + "a" + gap + "b") == std::vector<std::string>{"a", "b"});
    CHECK(words_of(std::string(Words::longest, 'x')).front().size() == Words::longest);
}

TEST_CASE("one reading of the text finds words, letters and what is no UTF-8") {
    std::string text;
    for (int i = 0; i < 300'000; ++i) { text += i % 3 == 0 ? "ab\xFF " : i % 3 == 1 ? "\xC3\xA9 " : "c\n"; }
    const Words words(text, "text");
    CHECK(words.size() == 300'000);
    CHECK(words.letters() == 600'000);  // bytes
    CHECK(words.not_utf8() == 100'000);
    std::size_t number = 0;
    bool in_order = true;
    words.each([&](std::string_view word) {
        const std::array<std::string_view, 3> expected{"ab\xFF", "\xC3\xA9", "c"};
        in_order = in_order && word == expected[number % 3];
        return ++number < 290'000;
    });
    CHECK(in_order);
    CHECK(number == 290'000);
}

TEST_CASE("what is no text is refused with a sentence") {
    using namespace std::literals;
    CHECK(refusal([] { Words(" \n\t"sv, "FILE"); }) ==
          "FILE holds white space only: there are no words to count");
    CHECK(refusal([] { Words("ab\0c"sv, "FILE"); }) == "FILE is not a text: it has a NUL byte at offset 2");
    CHECK(refusal([] { Words("ab " + std::string(70'000, 'x'), "FILE"); }) ==
          "FILE is not a text of words: the one at offset 3 is longer than 65535 bytes");
    CHECK(refusal([] { MappedFile("/dev/null"); }) == "/dev/null is not a file");
    CHECK(refusal([] { MappedFile("/"); }) == "/ is not a file");
    CHECK(refusal([] { MappedFile("/proc/version"); }) ==
          "/proc/version is empty: there are no words to count");
    CHECK(refusal([] { MappedFile("/nowhere"); }) == "cannot read /nowhere: No such file or directory");
}

TEST_CASE("UTF-8 is told from other bytes") {
    for (const std::string_view valid :
         {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEE\x80\x80"}) {
        CHECK(is_utf8(valid));
    }
    for (const std::string_view broken : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xFF",
                                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xE2\x82"}) {
        CHECK_FALSE(is_utf8(broken));
    }
}

TEST_CASE("all containers count the same words") {
    const std::string text = word_list({});
    const Words words(text, "list");
    for (const std::size_t group : {1U, 100U, 1'000U, 5'000U}) {
        CAPTURE(group);
        count_alike<Keyed<Map>, Keyed<Map, toll::pool_allocator>, Keyed<Multimap>, Keyed<UnorderedMap>,
                    Keyed<UnorderedMap, toll::pool_allocator>, Keyed<UnorderedMultimap>, Sorted<Vector>,
                    Pooled<PmrMap>, Monotonic<PmrMap>, Pooled<PmrUnorderedMap>, Monotonic<PmrUnorderedMap>>(
            words, group);
        // These look at every element for every word.
        if (group <= 1'000U) {
            count_alike<Linear<Vector>, Linear<DequeFront>, Linear<DequeBack>>(words, group);
        }
    }
}

TEST_CASE("the standard maps hold as much for a word as with the library's own hash") {
    // libstdc++ keeps the hash code beside a word unless the hash is fast, as one that cannot throw is to it.
    using Pairs = toll::counting_allocator<toll::count_words::Node>;
    UnorderedMap<toll::counting_allocator>::type ours;
    std::unordered_map<std::string, int, std::hash<std::string>, std::equal_to<>, Pairs> usual;
    for (const char* const word : {"a", "few", "words"}) {
        ours.emplace(word, 1);
        usual.emplace(word, 1);
    }
    CHECK(ours.get_allocator().counts().bytes == usual.get_allocator().counts().bytes);
}

TEST_CASE("the reference counts by hand") {
    const Words words("a b a c a b b a a c a a b", "text");
    const Reference reference = reference_answer(words, 2);
    // a and b fill it; eight look-ups later, of which c misses twice, it is cleared.
    CHECK(reference.tally.added == 4);
    CHECK(reference.tally.duplicates == 7);
    CHECK(reference.tally.clears == 1);
    CHECK(reference.digest_at_clears == digest_of("a", 5) + digest_of("b", 3));
    CHECK(reference.tally.digest == digest_of("a", 2) + digest_of("b", 1));
}

TEST_CASE("a container that counts wrong is found out") {
    const std::array<std::string_view, 2> given{"group=100", "background=0"};
    CHECK_THROWS_AS(Workload<Forgetful>(toll::Arguments(Workload<Forgetful>::parameters(), given)),
                    toll::WrongAnswer);
    CHECK_THROWS_AS(Workload<Exaggerating>(toll::Arguments(Workload<Exaggerating>::parameters(), given)),
                    toll::WrongAnswer);
}

TEST_CASE("the container's calls follow the document's pattern") {
    CHECK(container_calls<Linear<Vector>>("100") == 1);
    CHECK(container_calls<Sorted<Vector>>("1000") == 1);
    CHECK(container_calls<Keyed<Map>>("100") == 7'200);
    CHECK(container_calls<Keyed<Map>>("500") == 6'500);
    CHECK(container_calls<Keyed<Map>>("1000") == 6'000);
    CHECK(container_calls<Keyed<Map, toll::pool_allocator>>("1000") == 1);
    const double hashed = container_calls<Keyed<UnorderedMap>>("1000");
    CHECK(container_calls<Keyed<UnorderedMap>>("100") > 7'200);  // counted anew for another input
    CHECK(hashed > 6'000);
    CHECK(hashed < 6'020);
    CHECK(container_calls<Keyed<UnorderedMap>>("1000") == hashed);
    CHECK(container_calls<Keyed<UnorderedMap, toll::pool_allocator>>("1000") < 20);
    // Five groups of one node, and one of all others: what the document counts.
    for (const char* group : {"100", "500", "1000"}) {
        CHECK(container_calls<Keyed<Map, document_pool_allocator>>(group) == 6);
    }
    CHECK(container_calls<Keyed<UnorderedMap, document_pool_allocator>>("1000") < 20);
}

/// As std::flat_map, which GCC 12 has not: keys and values in a sequence each, and an allocator for each.
class FlatStandIn {
public:
    using Keys = std::vector<std::string, toll::counting_allocator<std::string>>;
    using Values = std::vector<int, toll::counting_allocator<int>>;
    void add(const std::string& key) {
        keys_.push_back(key);
        values_.push_back(1);
    }
    [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
    [[nodiscard]] const Values& values() const noexcept { return values_; }

private:
    Keys keys_;
    Values values_;
};

TEST_CASE("of a map with two sequences the calls of both are counted") {
    struct Holder : Held<FlatStandIn> {
        void add(const std::string& key) { container_.add(key); }
    } holder;
    CHECK(holder.allocator_calls() == 0);
    for (const char* key : {"a", "b", "c"}) { holder.add(key); }  // each grows to 1, 2 and 4
    CHECK(holder.allocator_calls() == 6);
}

TEST_CASE("the document's pool gives back what it got, and hands a block out once") {
    std::map<int, int, std::less<>, document_pool_allocator<std::pair<const int, int>>> map;
    auto allocator = map.get_allocator();
    allocator.preallocate(10);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 15; ++i) { map.emplace(i, i * i); }
        for (int i = 0; i < 15; ++i) { CHECK(map.at(i) == i * i); }
        map.clear();
    }
    CHECK(allocator.counts().calls == 6);
    for (int i = 0; i < 16; ++i) { map.emplace(i, i); }
    CHECK(allocator.counts().calls == 7);
    CHECK(map.size() == 16);
}

TEST_CASE("a text that ends with a clear has no further fill") {
    // Two words fill the group of 2, eight look-ups clear it.
    const std::string path = std::string(P_tmpdir) + "/toll-words-" + std::to_string(::getpid());
    for (const auto& [text, fills] :
         {std::pair("a b a a a a a a a a", 1), std::pair("a b a a a a a a a a c", 2)}) {
        std::ofstream(path) << text;
        const std::string input = "input=" + path;
        const std::array<std::string_view, 3> given{"group=2", "background=0", input};
        using Counting = Workload<Keyed<Map>>;
        const Counting workload(toll::Arguments(Counting::parameters(), given));
        CHECK(std::get<std::int64_t>(workload.footing().all().at("fills")) == fills);
        std::remove(path.c_str());
        // The launch's input is kept by its path: another one in between makes it forget this text.
        const std::array<std::string_view, 2> others{"group=100", "background=0"};
        Counting(toll::Arguments(Counting::parameters(), others));
    }
}

TEST_CASE("background threads work while they are wanted and sleep while not") {
    std::atomic<std::uint64_t> steps{0};
    std::atomic<int> at_work{0};
    Background background(3, [&](const Background::GoOn& go_on) {
        ++at_work;
        while (go_on()) {
            ++steps;
            std::this_thread::yield();
        }
        --at_work;
    });
    {
        const Background::Busy busy(background);
        while (steps < 100) { std::this_thread::yield(); }
    }
    while (at_work > 0) { std::this_thread::yield(); }  // the last step of each, however late it gets a CPU
    const std::uint64_t before = steps;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(steps == before);

    Background failing(1, [](const Background::GoOn&) { throw std::runtime_error("it failed"); });
    const Background::Busy busy(failing);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool thrown = false;
    while (!thrown && std::chrono::steady_clock::now() < until) {
        try {
            failing.check();
        } catch (const std::runtime_error&) { thrown = true; }
    }
    CHECK(thrown);
}

TEST_CASE("the timed thread counts right beside others") {
    const std::array<std::string_view, 2> given{"group=100", "background=4"};
    using Counting = Workload<Keyed<UnorderedMap, toll::pool_allocator>>;
    Counting workload(toll::Arguments(Counting::parameters(), given));
    for (int i = 0; i < 3; ++i) {
        workload.before_batch();
        CHECK(workload.run(2) == workload.expected(2));
        workload.after_batch();
    }
    CHECK(std::get<std::int64_t>(workload.footing().all().at("threads")) == 1);
    CHECK(std::get<std::int64_t>(workload.footing().all().at("load_threads")) == 4);
}

TEST_CASE("linear searches and sorted vectors of large groups are refused before they begin") {
    const std::array<std::string_view, 1> given{"group=100000"};
    using Slow = Workload<Linear<Vector>>;
    CHECK(refusal([&] { Slow(toll::Arguments(Slow::parameters(), given)); }) ==
          "looks at every element for every word: a pass with group=100000 would take minutes; ask for 10000 "
          "or less");
    using Moving = Workload<Sorted<Vector>>;
    CHECK(
        refusal([&] { Moving(toll::Arguments(Moving::parameters(), given)); }) ==
        "moves half of its elements for every new word: a pass with group=100000 would take minutes; ask for "
        "10000 or less");
}
