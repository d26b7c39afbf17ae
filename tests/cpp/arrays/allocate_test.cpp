#include "allocate/workload.hpp"
#include "allocate_throughput/workload.hpp"
#include "shared/pool_allocator.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using toll::allocate::AnyBytes;
using toll::allocate::growing;
using toll::allocate::TypedBytes;

namespace {

struct OperatorNew {
    static void* allocate(std::size_t bytes) { return ::operator new(bytes); }
    static void deallocate(void* place, std::size_t /*bytes*/) { ::operator delete(place); }
};

/// Knows what is live, and counts what the workload asks of it.
struct Watched {
    static void* allocate(std::size_t bytes) {
        void* place = std::malloc(bytes);
        CHECK(live.insert(place).second);
        sizes.insert(bytes);
        most_live = std::max(most_live, live.size());
        return place;
    }
    static void deallocate(void* place, std::size_t bytes) {
        CHECK(live.erase(place) == 1);
        CHECK(sizes.contains(bytes));
        std::free(place);
        owner_freed += std::this_thread::get_id() == owner ? 1 : 0;
        ++freed;
    }
    static void all_freed() {
        CHECK(live.empty());
        ++cycles;
    }
    static void forget() {
        sizes.clear();
        most_live = freed = owner_freed = cycles = 0;
        owner = std::this_thread::get_id();
    }
    static inline std::set<void*> live;
    static inline std::set<std::size_t> sizes;
    static inline std::size_t most_live, freed, owner_freed, cycles;
    static inline std::thread::id owner;
};

/// Gives out the same block twice.
struct Overlapping {
    static constexpr bool one_thread = true;
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 16);
    std::size_t taken = 0;
    void* allocate(std::size_t bytes) { return &memory[(taken++ % 9) * bytes]; }
    static void deallocate(void* /*place*/, std::size_t /*bytes*/) {}
};

template <class T>
struct Pool {
    static constexpr bool one_thread = true;
    toll::pool_allocator<T> allocator;
    void* allocate(std::size_t /*bytes*/) { return allocator.allocate(1); }
    void deallocate(void* place, std::size_t /*bytes*/) { allocator.deallocate(static_cast<T*>(place), 1); }
};

/// Pages of its own straight from the kernel: what the heap still holds from other tests does not count.
template <bool gives_back>
struct Pages {
    static void* allocate(std::size_t bytes) {
        void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) { throw std::bad_alloc(); }
        return place;
    }
    static void deallocate(void* place, std::size_t bytes) {
        if (gives_back) { munmap(place, bytes); }
    }
};

template <class W>
W made(std::vector<std::string_view> words) {
    return W(toll::Arguments(W::parameters(), words));
}

template <class F>
using Calls = toll::allocate::Workload<F>;
template <class F>
using Throughput = toll::allocate_throughput::Workload<F>;

bool has_two_cpus() {
    if (toll::usable_cpus().size() >= 2) { return true; }
    MESSAGE("not checked: needs two CPUs");
    return false;
}

std::ptrdiff_t threads_now() {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

std::string text_of(const toll::Footing& footing, const char* name) {
    const auto& all = footing.all();
    const auto found = all.find(name);
    return found == all.end() ? "" : std::get<std::string>(found->second);
}

}  // namespace

TEST_CASE("each call that is timed is answered, in part of a cycle and over several") {
    const toll::Clock clock = toll::Clock::system();
    std::vector<std::string_view> patterns{"pattern=same_thread"};
    if (has_two_cpus()) { patterns.emplace_back("pattern=other_thread"); }
    for (const auto pattern : patterns) {
        for (const std::string_view operation : {"operation=allocate", "operation=free"}) {
            CAPTURE(pattern);
            CAPTURE(operation);
            auto workload = made<Calls<AnyBytes<OperatorNew>>>({pattern, operation, "live=10"});
            for (const std::size_t count : {1U, 10U, 25U}) {
                std::vector<float> out(count, -1.0F);
                CHECK(workload.sample(out, clock) == workload.expected(count));
                CHECK(std::all_of(out.begin(), out.end(), [](float ns) { return ns >= 0; }));
            }
        }
    }
}

TEST_CASE("all live at once, then all given back, by the thread that the pattern names") {
    Watched::forget();
    auto same = made<Throughput<AnyBytes<Watched>>>({"live=34", "size=growing"});
    CHECK(same.run(3) == same.expected(3));
    CHECK(Watched::most_live == 34);
    CHECK(Watched::sizes.size() == 17);
    CHECK(*Watched::sizes.begin() == 16);
    CHECK(*Watched::sizes.rbegin() == 1'048'576);
    CHECK(Watched::cycles == 4);  // one more at set-up: what the memory columns show
    CHECK(Watched::freed == 4 * 34);
    CHECK(Watched::owner_freed == Watched::freed);
    CHECK(same.units_per_iteration() == 34);
    if (!has_two_cpus()) { return; }
    Watched::forget();
    auto other = made<Throughput<AnyBytes<Watched>>>({"live=34", "pattern=other_thread"});
    CHECK(other.run(3) == other.expected(3));
    CHECK(Watched::freed == 4 * 34);  // so that no timed call is the other thread's first
    CHECK(Watched::owner_freed == 0);
}

TEST_CASE("blocks that overlap are a wrong answer") {
    auto batch = made<Throughput<AnyBytes<Overlapping>>>({"live=10"});
    CHECK(batch.run(2) == 0);
    auto fits = made<Throughput<AnyBytes<Overlapping>>>({"live=9"});
    CHECK(fits.run(2) == 2);
    const toll::Clock clock = toll::Clock::system();
    std::vector<float> out(20);
    auto calls = made<Calls<AnyBytes<Overlapping>>>({"live=10", "operation=free"});
    CHECK(calls.sample(out, clock) == 18);  // the tenth of each ten lies over the first
}

TEST_CASE("a sample is one call of either kind, however few are asked for") {
    const toll::Clock clock = toll::Clock::system();
    auto calls = made<Calls<AnyBytes<Watched>>>({"live=34"});
    std::vector<float> out(40);
    Watched::forget();
    CHECK(calls.sample(out, clock) == 40);
    CHECK(Watched::freed == 40);
    CHECK(Watched::most_live == 34);
    CHECK(Watched::cycles == 2);
}

TEST_CASE("what is resident is seen while all blocks live and once all are free") {
    if (!toll::allocate::resident_bytes()) {
        MESSAGE("not checked: no /proc/self/smaps_rollup");
        return;
    }
    const auto returned = made<Throughput<AnyBytes<Pages<true>>>>({"size=4096", "live=1000"}).details();
    CHECK(returned.at("live_bytes") >= 1000 * 4096);
    CHECK(returned.at("after_free_bytes") < 500 * 4096);
    const auto kept = made<Throughput<AnyBytes<Pages<false>>>>({"size=4096", "live=1000"}).details();
    CHECK(kept.at("live_bytes") >= 1000 * 4096);
    CHECK(kept.at("after_free_bytes") >= 1000 * 4096);
}

TEST_CASE("the kernel's line is read as it stands") {
    CHECK(toll::allocate::resident_in("1-2 [rollup]\nRss:     12 kB\nPss: 3 kB\n") == 12 * 1024);
    CHECK(!toll::allocate::resident_in("no such line"));
    CHECK(!toll::allocate::resident_in("\nRss:"));
}

TEST_CASE("a pool says what it cannot do") {
    using Typed = Throughput<TypedBytes<Pool>>;
    CHECK_THROWS_WITH_AS(made<Typed>({"size=100"}), doctest::Contains("compiled for size=16, 64, 256"),
                         toll::Unsupported);
    CHECK_THROWS_AS(made<Typed>({"size=growing"}), toll::Unsupported);
    CHECK_THROWS_WITH_AS(made<Typed>({"pattern=other_thread"}), doctest::Contains("belong to one thread"),
                         toll::Unsupported);
    for (const std::string_view word : {"size=15", "size=1048577", "size=64x", "size=", "pattern=both"}) {
        CAPTURE(word);
        CHECK_THROWS_AS(made<Typed>({word}), toll::UsageError);
    }
    CHECK_THROWS_AS(made<Calls<AnyBytes<OperatorNew>>>({"operation=both"}), toll::UsageError);
}

TEST_CASE("at most 64 MiB live at once") {
    CHECK(toll::allocate::live_blocks(64, 1000) == 1000);
    CHECK(toll::allocate::live_blocks(1'048'576, 1000) == 64);
    CHECK(toll::allocate::live_blocks(growing, 17) == 17);
    CHECK(toll::allocate::live_blocks(growing, 1'000'000) < 600);
}

TEST_CASE("the peer does one thing after the other, and hands back what is thrown") {
    if (!has_two_cpus()) { return; }
    toll::allocate::Peer peer(toll::usable_cpus()[1]);
    int sum = 0;
    for (int i = 1; i <= 100; ++i) {
        peer.run([&] { sum += i; });
    }
    CHECK(sum == 5050);
    CHECK_THROWS_AS(peer.run([] { throw std::runtime_error("there"); }), std::runtime_error);
    peer.run([&] { sum = 1; });
    CHECK(sum == 1);
    CHECK_THROWS_AS(toll::allocate::Peer(100'000), toll::Unsupported);
}

TEST_CASE("the C library believes that the process has threads") {
    const std::ptrdiff_t before = threads_now();
    auto workload = made<Calls<AnyBytes<OperatorNew>>>({"pattern=same_thread", "live=100"});
    CHECK(threads_now() == before + 1);  // what glibc believes may be from the threads of earlier tests
    const std::string seen = text_of(workload.footing(), "second_thread");
    CAPTURE(seen);
    CHECK(seen.starts_with("asleep"));
}

TEST_CASE("who gives blocks back elsewhere is on another core where there is one") {
    if (!has_two_cpus()) { return; }
    auto workload = made<Calls<AnyBytes<OperatorNew>>>({"pattern=other_thread", "live=100"});
    CHECK(text_of(workload.footing(), "second_thread").empty());
    CHECK(text_of(workload.footing(), "placement") != "same_core");
    toll::latency::Topology topology;
    const auto pair = toll::latency::choose_pair("auto", toll::usable_cpus(), topology);
    CHECK(text_of(workload.footing(), "pinned_cpus") == toll::cpu_list(pair.cpus));
}

TEST_CASE("a row says how many blocks lived while its calls were timed") {
    const toll::Clock clock = toll::Clock::system();
    for (const std::string_view operation : {"operation=allocate", "operation=free"}) {
        auto workload = made<Calls<AnyBytes<OperatorNew>>>({operation, "pattern=same_thread", "live=100"});
        for (const std::size_t calls : {30UL, 100UL, 250UL}) {
            std::vector<float> nanoseconds(calls);
            CHECK(workload.sample(nanoseconds, clock) == calls);
            CHECK(workload.details().at("most_live") == (calls < 100 ? 30 : 100));
        }
    }
}
