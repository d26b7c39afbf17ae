#include "toll/batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "gauge.hpp"
#include "launch.hpp"

TEST_CASE("a batch's wall time is the timed part alone, the overhead removed") {
    toll::FakeClock clock(0.5, 10);
    const toll::Counters none;
    const toll::Batch batch = toll::time_batch(clock, none, [&] {
        clock.advance(2000);
        return toll::Checksum{17};
    });
    CHECK(batch.wall_ns == 1000.0);
    CHECK(batch.checksum == 17);
    CHECK(batch.counters.empty());
    CHECK(batch.peak_bytes > 0);
}

TEST_CASE("each batch has a gauge") {
    const toll::Clock clock = toll::Clock::system();
    const double alone_ns = toll::gauge_ns(clock);
    CHECK(alone_ns > 0);
    const toll::Batch batch = toll::gauged(clock, [] { return toll::Batch{}; });
    CHECK(batch.gauge_ns > 0);
    toll::FakeClock still(1, 10);
    CHECK(toll::gauge_ns(still) == 0);  // the clock's own overhead is no part of it
}

TEST_CASE("repeat calls as often as told and adds the answers modulo 2^64") {
    std::uint64_t calls = 0;
    CHECK(toll::repeat(5, [&] { return ++calls; }) == 15);
    CHECK(calls == 5);
    CHECK(toll::repeat(0, [&] { return ++calls; }) == 0);
    CHECK(toll::repeat(3, [] { return toll::Checksum{1} << 63; }) == toll::Checksum{1} << 63);
}

namespace toll::counted {

// What the launch does with a workload, seen from inside it.
struct Seen {
    static inline int made = 0;
    static inline int ended = 0;
    static inline int most_alive = 0;
    static inline std::vector<std::uintptr_t> stacks{};
    Seen() { most_alive = std::max(most_alive, ++made - ended); }
    ~Seen() { ++ended; }
    Seen(const Seen&) = delete;
    Seen& operator=(const Seen&) = delete;
};

template <class S>
struct Workload {
    static constexpr WorkloadInfo info{"test/counted", Kind::batch, "ns", "step"};
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments&) {}
    Checksum run(std::uint64_t iterations) {
        char here = 0;
        keep(here);
        Seen::stacks.push_back(reinterpret_cast<std::uintptr_t>(&here));
        return iterations;
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 3; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] Footing footing() const { return {}; }
    S seen;
};

}  // namespace toll::counted

TOLL_CONTENDER(counted, seen, toll::counted::Seen);

namespace toll::loaded {

struct Burner {
    std::thread thread;
};

/// A thread works beside the timed one while a batch is timed: it uses what `run` waits for.
template <class B>
struct Workload {
    static constexpr WorkloadInfo info{"test/loaded", Kind::batch, "ns", "step"};
    static constexpr bool times_own_thread = true;
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments&) {}
    void before_batch() {
        wanted = true;
        burner.thread = std::thread([this] {
            while (wanted) { ++steps; }
        });
    }
    void after_batch() noexcept {
        wanted = false;
        burner.thread.join();
    }
    Checksum run(std::uint64_t iterations) {
        const std::uint64_t before = steps;
        while (steps < before + 10'000'000) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
        return iterations;
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 1; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] Footing footing() const { return {}; }
    B burner;
    std::atomic<bool> wanted{false};
    std::atomic<std::uint64_t> steps{0};
};

}  // namespace toll::loaded

TOLL_CONTENDER(loaded, burner, toll::loaded::Burner);

TEST_CASE("a load is there while a batch is timed, and the timed thread's CPU time is its own") {
    toll::Launch launch(toll::find_contender("test/loaded", "burner"), {});
    const toll::Batch batch = launch.batch(1, {});  // without the load it would wait for ever
    CHECK(batch.wall_ns > 0);
    CHECK(static_cast<double>(batch.used.cpu_ns) < 0.5 * batch.wall_ns);  // the burner's alone is all of it
    CHECK(launch.batch(1, {}).wall_ns > 0);
}

TEST_CASE("a layout re-makes the state; none keeps it; the same seed shifts the stack alike") {
    using toll::counted::Seen;
    Seen::made = Seen::ended = Seen::most_alive = 0;
    Seen::stacks.clear();
    toll::Launch launch(toll::find_contender("test/counted", "seen"), {});
    CHECK(Seen::made == 1);
    const auto once = [&](toll::Launch::Seed seed) { return launch.batch(2, seed); };
    CHECK(once({}).units == 6);
    CHECK(Seen::made == 1);
    for (const std::uint64_t seed : {1U, 2U, 3U, 1U}) { (void)once(seed); }
    CHECK(Seen::made == 5);
    CHECK(Seen::ended == 4);
    CHECK(Seen::most_alive == 1);  // two at once would share ports, pins and memory
    const auto& stacks = Seen::stacks;
    CHECK(stacks[1] == stacks[4]);
    CHECK((stacks[1] != stacks[2] || stacks[2] != stacks[3]));
    (void)once({});  // the last layout stays
    CHECK(stacks[5] == stacks[4]);
    launch.end();
    CHECK(Seen::ended == Seen::made);
}

TEST_CASE("requests that fit no launch are refused before anything runs") {
    toll::counted::Seen::stacks.clear();
    toll::Launch launch(toll::find_contender("", "seen"), {});
    CHECK_THROWS_AS((void)launch.batch(0, {}), toll::UsageError);
    CHECK_THROWS_AS((void)launch.batch(toll::Launch::most_iterations + 1, {}), toll::UsageError);
    CHECK_THROWS_AS((void)launch.samples(1, {}), toll::UsageError);
    CHECK(toll::counted::Seen::stacks.empty());
    CHECK_THROWS_AS((void)toll::find_contender("test/other", "seen"), toll::UsageError);
}
