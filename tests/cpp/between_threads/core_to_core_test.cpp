#include "core_to_core/workload.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

namespace c2c = toll::core_to_core;

/// Whose turn it is; remembers where it was made and who had a turn.
struct Watched {
    std::atomic<int> turn{0};
    Watched() { made_on.push_back(toll::cpus_of_this_thread()); }
    void pass(int side) {
        while (turn.load(std::memory_order_acquire) != side) { toll::cpu_relax(); }
        turn.store(1 - side, std::memory_order_release);
    }
    static inline std::vector<std::string> made_on;  // written by one thread a request
};

/// Side 0 gives the turn first, and waits until it is back.
struct TimedAlone {
    static constexpr bool timed_alone = true;
    std::atomic<int> turn{0};
    void pass(int side) {
        if (side == 0) { turn.store(1, std::memory_order_release); }
        while (turn.load(std::memory_order_acquire) != side) { toll::cpu_relax(); }
        if (side == 1) { turn.store(0, std::memory_order_release); }
    }
};

/// Cannot be made: the answering side fails before it meets the other one.
struct Unmakeable {
    Unmakeable() { throw toll::Unsupported("no channel"); }
    void pass(int) {}
};

/// The answering side is moved to another CPU, as the kernel does when its own is taken away.
struct Moved {
    std::atomic<int> turn{0};
    void pass(int side) {
        if (side == 1 && std::exchange(move, false)) { toll::pin_this_thread(another_cpu()); }
        while (turn.load(std::memory_order_acquire) != side) { std::this_thread::yield(); }
        turn.store(1 - side, std::memory_order_release);
    }
    static int another_cpu() {
        const auto& usable = toll::usable_cpus();
        return toll::cpus_of_this_thread() == std::to_string(usable[0]) ? usable[1] : usable[0];
    }
    static inline bool move = false;  // read and written by the answering side while pairs are measured
};

/// From some pass of a visit on nobody waits any more.
template <int FROM>
struct NoWaiting {
    std::atomic<int> turn{0};
    std::atomic<bool> no_waiting{false};
    int passed = 0;  // by side 0
    void pass(int side) {
        if (side == 0 && passed++ == FROM) { no_waiting = true; }
        while (turn.load(std::memory_order_acquire) != side && !no_waiting) { toll::cpu_relax(); }
        turn.store(1 - side, std::memory_order_release);
    }
};

toll::Arguments arguments(std::string_view pairs) {
    static const auto parameters = c2c::Workload<Watched>::parameters();
    const std::string word = "pairs=" + std::string(pairs);
    const std::array<std::string_view, 1> words{word};
    return {parameters, words};
}

bool enough_cpus() {
    if (toll::usable_cpus().size() >= 2) { return true; }
    MESSAGE("not checked: needs two CPUs");
    return false;
}

std::set<std::pair<int, int>> distinct(c2c::Pairs& pairs, std::size_t visits) {
    std::set<std::pair<int, int>> seen;
    for (std::size_t visit = 0; visit < visits; ++visit) {
        const c2c::Pair pair = pairs.next();
        CHECK(pair.from != pair.to);
        seen.emplace(pair.from, pair.to);
    }
    return seen;
}

/// A machine of packages of eight CPUs, two to a core and four behind the cache in the folder `outermost`,
/// laid out as sysfs does.
std::filesystem::path lay_out(int cpus, const std::string& outermost) {
    const auto root = std::filesystem::temp_directory_path() / ("toll-topology-" + std::to_string(getpid()));
    for (int cpu = 0; cpu < cpus; ++cpu) {
        const auto folder = root / ("cpu" + std::to_string(cpu));
        std::filesystem::create_directories(folder / "topology");
        std::filesystem::create_directories(folder / "cache/index0");
        std::filesystem::create_directories(folder / "cache" / outermost);
        std::ofstream(folder / "cache/index0/level") << "1\n";
        std::ofstream(folder / "cache/index0/shared_cpu_list") << cpu << "\n";
        std::ofstream(folder / "cache" / outermost / "level") << "4\n";
        std::ofstream(folder / "topology/thread_siblings_list")
            << cpu / 2 * 2 << "-" << cpu / 2 * 2 + 1 << "\n";
        std::ofstream(folder / "topology/physical_package_id") << cpu / 8 << "\n";
        std::ofstream(folder / "cache" / outermost / "shared_cpu_list")
            << cpu / 4 * 4 << "-" << cpu / 4 * 4 + 3 << "\n";
    }
    return root;
}

}  // namespace

TEST_CASE("every ordered pair is visited once before any is visited twice") {
    toll::Random random(1);
    const std::vector<int> cpus{0, 3, 4, 9, 12};
    c2c::Pairs pairs("all", cpus, random);
    CHECK(pairs.size() == 20);
    CHECK(distinct(pairs, 20).size() == 20);
    CHECK(distinct(pairs, 20).size() == 20);
}

TEST_CASE("the order of pairs is another one with another seed") {
    std::vector<int> cpus(16);
    for (int cpu = 0; cpu < 16; ++cpu) { cpus[static_cast<std::size_t>(cpu)] = cpu; }
    toll::Random one(1);
    toll::Random other(2);
    c2c::Pairs first("auto", cpus, one);
    c2c::Pairs second("auto", cpus, other);
    int alike = 0;
    for (int visit = 0; visit < 240; ++visit) {
        const auto a = first.next();
        const auto b = second.next();
        alike += a.from == b.from && a.to == b.to ? 1 : 0;
    }
    CHECK(alike < 20);
}

TEST_CASE("the topology tells what two CPUs share") {
    std::vector<int> cpus(16);
    for (int cpu = 0; cpu < 16; ++cpu) { cpus[static_cast<std::size_t>(cpu)] = cpu; }
    for (const char* outermost : {"index3", "index2"}) {  // the latter: no third level
        CAPTURE(outermost);
        const auto root = lay_out(16, outermost);
        const c2c::Topology topology(cpus, (root / "cpu").string());
        CHECK(topology.shared(0, 1) == 0);
        CHECK(topology.shared(0, 2) == 1);
        CHECK(topology.shared(0, 4) == 2);
        CHECK(topology.shared(0, 8) == 3);
        std::filesystem::remove_all(root);
    }
}

TEST_CASE("more than 64 CPUs are sampled, and every pair comes in the end") {
    toll::Random random(1);
    std::vector<int> cpus;
    cpus.reserve(65);
    for (int cpu = 0; cpu < 65; ++cpu) {
        cpus.push_back(100'000 + cpu);
    }  // no such CPUs: all share one cache
    c2c::Pairs pairs("auto", cpus, random);
    CHECK(pairs.said().find("topology class") != std::string::npos);
    CHECK(distinct(pairs, pairs.size()).size() == 65 * 64);
}

TEST_CASE("a plan that is none is refused") {
    toll::Random random(1);
    const std::vector<int> cpus{0, 1};
    CHECK_THROWS_AS(c2c::Pairs("some", cpus, random), toll::UsageError);
}

TEST_CASE("every sample belongs to a pair, and the answering side makes the channel") {
    if (!enough_cpus()) { return; }
    const toll::Clock clock = toll::Clock::system();
    c2c::Workload<Watched> workload(arguments("auto"));
    std::vector<float> samples(1000, -1.0F);
    Watched::made_on.clear();
    CHECK(workload.sample(samples, clock) == workload.expected(samples.size()));
    for (const float sample : samples) { CHECK(sample > 0); }
    std::size_t counted = 0;
    std::size_t number = 0;
    for (const toll::Cell& cell : workload.cells()) {
        counted += cell.count;
        const auto border = cell.key.find('>');
        REQUIRE(border != std::string::npos);
        REQUIRE(number < Watched::made_on.size());
        CHECK(Watched::made_on[number++] == cell.key.substr(border + 1));
    }
    CHECK(counted == samples.size());
}

TEST_CASE("a trip that is timed alone lies between two looks at the clock, whose overhead is taken off") {
    if (!enough_cpus()) { return; }
    toll::FakeClock clock(1, 10);  // time passes by reading it alone, and that is its overhead
    std::vector<float> samples(100, -1.0F);
    c2c::Workload<Watched> in_a_row(arguments("all"));
    CHECK(in_a_row.sample(samples, clock) == in_a_row.expected(samples.size()));
    for (const float sample : samples) { CHECK(sample == 10.0F / 16); }
    clock.read_in(16);  // as where the other side works on the core's other hardware thread
    c2c::Workload<TimedAlone> alone(arguments("all"));
    CHECK(alone.sample(samples, clock) == alone.expected(samples.size()));
    for (const float sample : samples) { CHECK(sample == 0); }
    static_assert(c2c::Workload<Watched>::round_trips == 8);
    static_assert(c2c::Workload<TimedAlone>::round_trips == 1);
}

TEST_CASE("no two visits share a page of the kernel's") {
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{16384}, std::size_t{65536}}) {
        const toll::core_to_core::UntouchedPages pages(3, bytes);
        CHECK(pages.page(1) - pages.page(0) == static_cast<std::ptrdiff_t>(bytes));
        *pages.page(2) = std::byte{1};
    }
    const toll::core_to_core::UntouchedPages pages(2);
    CHECK(pages.page(1) - pages.page(0) >= ::sysconf(_SC_PAGESIZE));
}

TEST_CASE("few samples are one visit, many visit every pair") {
    if (!enough_cpus()) { return; }
    const toll::Clock clock = toll::Clock::system();
    c2c::Workload<Watched> workload(arguments("all"));
    std::vector<float> few(3);
    CHECK(workload.sample(few, clock) == 3);
    CHECK(workload.cells().size() == 1);
    const std::size_t cpus = std::min<std::size_t>(toll::usable_cpus().size(), 32);
    std::vector<float> many(16 * cpus * (cpus - 1));
    CHECK(workload.sample(many, clock) == many.size());
    if (toll::usable_cpus().size() <= 32) { CHECK(workload.cells().size() == cpus * (cpus - 1)); }
}

TEST_CASE("a side that fails takes the other one with it, and its own reason is told") {
    if (!enough_cpus()) { return; }
    const toll::Clock clock = toll::Clock::system();
    c2c::Workload<Unmakeable> workload(arguments("auto"));
    std::vector<float> samples(100);
    for (int again = 0; again < 300; ++again) {  // both sides give up at about the same time
        CHECK_THROWS_WITH_AS(workload.sample(samples, clock), "no channel", toll::Unsupported);
    }
}

TEST_CASE_TEMPLATE("who gets the turn before the other side had it has a wrong answer", T, NoWaiting<0>,
                   NoWaiting<100>) {
    if (!enough_cpus()) { return; }
    const toll::Clock clock = toll::Clock::system();
    c2c::Workload<T> workload(arguments("auto"));
    std::vector<float> samples(1000);
    CHECK(workload.sample(samples, clock) < workload.expected(samples.size()));
}

TEST_CASE("times of a CPU that was taken away meanwhile are no times of it") {
    if (!enough_cpus()) { return; }
    const toll::Clock clock = toll::Clock::system();
    c2c::Workload<Moved> workload(arguments("auto"));
    std::vector<float> samples(16);
    CHECK(workload.sample(samples, clock) == workload.expected(samples.size()));
    Moved::move = true;
    CHECK_THROWS_WITH_AS(workload.sample(samples, clock),
                         doctest::Contains("was taken away while it was measured"), toll::Unsupported);
}
