#include "../few_threads.hpp"
#include "contended_increment/workload.hpp"
#include "contended_round/workload.hpp"
#include "contention/workload.hpp"
#include "shared/atomic_counters.hpp"
#include "shared/spinlocks.hpp"
#include "shared/std_locks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace {

namespace contention = toll::contention;

/// Reads and writes apart: increments get lost, without a data race. The first of two threads to read waits
/// until the other one has read the same, so that this takes no luck.
class Losing {
public:
    std::uint64_t draw(std::uint64_t goal) {
        const std::uint64_t seen = count_.load(std::memory_order_relaxed);
        ++reads_;
        while (reads_ < 2) { std::this_thread::yield(); }
        if (seen < goal) { count_.store(seen + 1, std::memory_order_relaxed); }
        return seen;
    }
    [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
    std::atomic<std::uint64_t> reads_{0};
};

/// Says more than it holds.
class Boasting {
public:
    std::uint64_t draw(std::uint64_t goal) { return counter_.draw(goal); }
    [[nodiscard]] std::uint64_t count() const { return counter_.count() + 1; }

private:
    contention::Locked<toll::locks::StdMutex> counter_;
};

/// Lets the first thread to come do nearly everything.
class Unfair {
public:
    std::uint64_t draw(std::uint64_t goal) {
        thread_local const int me = next++;
        const int first = first_.load();
        if (first < 0) { first_ = me; }
        if (first >= 0 && first != me) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
        return counter_.draw(goal);
    }
    [[nodiscard]] std::uint64_t count() const { return counter_.count(); }

private:
    static inline std::atomic<int> next{0};
    std::atomic<int> first_{-1};
    contention::Locked<toll::locks::StdMutex> counter_;
};

/// Lets one thread alone in, which takes its time; the others wait until nothing is left.
class Starving {
public:
    std::uint64_t draw(std::uint64_t goal) {
        if (counter_.count() + 200 > goal) { std::this_thread::sleep_for(std::chrono::microseconds(50)); }
        int nobody = 0;
        thread_local const int me = ++next;
        if (!owner_.compare_exchange_strong(nobody, me) && nobody != me) {
            another_waits_ = true;
            while (counter_.count() < goal) { std::this_thread::yield(); }
        }
        while (!another_waits_) { std::this_thread::yield(); }
        return counter_.draw(goal);
    }
    [[nodiscard]] std::uint64_t count() const { return counter_.count(); }

private:
    static inline std::atomic<int> next{0};
    std::atomic<int> owner_{0};
    std::atomic<bool> another_waits_{false};
    contention::CompareExchange counter_;
};

/// Keeps one thread out for a while in the middle of a batch, long before the part in which draws are timed.
class Detaining {
public:
    std::uint64_t draw(std::uint64_t goal) {
        if (counter_.count() > goal / 4 && !detained_.exchange(true)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(detained_ms));
            released_ = true;
        }
        const std::uint64_t number = counter_.draw(goal);
        // The other one goes on meanwhile, but not to the end.
        while (number > goal / 2 && !released_) { std::this_thread::yield(); }
        return number;
    }
    [[nodiscard]] std::uint64_t count() const { return counter_.count(); }
    static constexpr int detained_ms = 40;

private:
    std::atomic<bool> detained_{false};
    std::atomic<bool> released_{false};
    contention::CompareExchange counter_;
};

/// Adds as often as it is asked, and forgets one of five.
class Forgetful {
public:
    void add(std::uint64_t count) { counter_.add(count - count / 5); }
    [[nodiscard]] std::uint64_t count() const { return counter_.count(); }

private:
    contention::FetchAddAsAsked counter_;
};

/// An increment takes ten milliseconds.
class Slow {
public:
    std::uint64_t draw(std::uint64_t goal) {
        const std::uint64_t number = counter_.draw(goal);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return number;
    }
    [[nodiscard]] std::uint64_t count() const { return counter_.count(); }

private:
    contention::FetchAdd counter_;
};

template <class C>
contention::Workload<C> made(unsigned threads) {
    static const auto parameters = contention::Workload<C>::parameters();
    const std::string word = "threads=" + std::to_string(threads);
    const std::array<std::string_view, 1> words{word};
    return contention::Workload<C>(toll::Arguments(parameters, words));
}

template <class C>
void check_counts() {
    for (const unsigned threads : {1U, 2U, 4U}) {
        CAPTURE(threads);
        auto workload = made<C>(threads);
        for (const std::uint64_t iterations : {1U, 3U, 5000U}) {
            CHECK(workload.run(iterations) == workload.expected(iterations));
        }
    }
}

}  // namespace

TEST_CASE("the counter holds what the threads drew") {
    check_counts<contention::FetchAdd>();
    check_counts<contention::CompareExchange>();
    check_counts<contention::Locked<toll::locks::StdMutex>>();
    check_counts<contention::Locked<toll::locks::StdAtomicFlag>>();
    check_counts<contention::Locked<toll::locks::TestAndTestAndSet>>();
}

TEST_CASE("threads that add an equal number each make all of them, and have no shares") {
    check_counts<contention::FetchAddAsAsked>();
    check_counts<contention::LockedAsAsked<toll::locks::StdMutex>>();
    auto workload = made<contention::FetchAddAsAsked>(3);
    CHECK(workload.run(10'001) == 10'001);  // no equal parts
    CHECK(workload.details().empty());
    auto forgets = made<Forgetful>(2);
    CHECK(forgets.run(4'000) != forgets.expected(4'000));
}

TEST_CASE("a lost increment is a wrong answer") {
    auto workload = made<Losing>(2);
    CHECK(workload.run(4'000) != workload.expected(4'000));
}

TEST_CASE("a counter that holds another number than the threads drew is a wrong answer") {
    auto workload = made<Boasting>(2);
    CHECK(workload.run(100) != workload.expected(100));
}

TEST_CASE("shares tell who was let in") {
    auto fair = made<contention::Locked<toll::locks::StdMutex>>(2);
    CHECK(fair.run(20'000) == 20'000);
    const toll::Details shares = fair.details();
    CHECK(shares.at("smallest_share") + shares.at("largest_share") == doctest::Approx(2));
    CHECK(shares.at("smallest_share") <= 1);

    auto unfair = made<Unfair>(2);
    CHECK(unfair.run(20'000) == 20'000);
    CHECK(unfair.details().at("largest_share") > 1.5);
    CHECK(unfair.details().at("longest_wait_ns") > 0);
}

TEST_CASE("who waits until the end waits longest") {
    auto workload = made<Starving>(2);
    CHECK(workload.run(12'800) == 12'800);  // the last 200 are watched, 50 us and more each
    CHECK(workload.details().at("largest_share") == 2);
    CHECK(workload.details().at("longest_wait_ns") > 150 * 50e3);
}

TEST_CASE("a long wait shows wherever in the batch it falls") {
    auto workload = made<Detaining>(2);
    // Counted from the next mark that the other thread passes: some microseconds late, more where that one
    // is kept from its CPU; hence not the first batch alone.
    double longest_ns = 0;
    for (int batch = 0; batch < 20 && longest_ns <= 0.5e6 * Detaining::detained_ms; ++batch) {
        CHECK(workload.run(200'000) == 200'000);
        longest_ns = std::max(longest_ns, workload.details().at("longest_wait_ns"));
    }
    CHECK(longest_ns > 0.5e6 * Detaining::detained_ms);
}

TEST_CASE("one thread, or a handful of increments, have no shares") {
    auto alone = made<contention::FetchAdd>(1);
    CHECK(alone.run(10'000) == 10'000);
    CHECK(alone.details().empty());
    auto few = made<contention::FetchAdd>(2);
    CHECK(few.run(16) == 16);
    CHECK(few.details().empty());
}

TEST_CASE("which CPUs the threads were tied to is told, and how close they are") {
    toll::latency::Topology topology;
    const auto cpus = toll::latency::one_per_core_first(toll::usable_cpus(), topology);
    for (const unsigned threads : {1U, 2U, 3U}) {
        CAPTURE(threads);
        auto workload = made<contention::FetchAdd>(threads);
        CHECK(workload.run(100) == 100);  // each thread looks where it is
        const auto taken = std::span(cpus).first(std::min<std::size_t>(threads, cpus.size()));
        const toll::Footing footing = workload.footing();
        const auto text = [&](const char* name) { return std::get<std::string>(footing.all().at(name)); };
        if (text("pinning").starts_with("none")) {
            MESSAGE("not checked: threads cannot be tied to CPUs");
            return;
        }
        CHECK(text("pinned_cpus") == toll::cpu_list(taken));
        CHECK(text("placement") == toll::latency::closenesses(taken, topology));
    }
}

TEST_CASE("a batch that cannot end says so") {
    auto workload = made<Slow>(2);
    CHECK_THROWS_WITH_AS(workload.run(1'000'000), doctest::Contains("increments in 2 s with 2 threads"),
                         toll::Unsupported);
}

template <class C>
toll::Checksum sampled(unsigned threads, std::span<float> nanoseconds) {
    using Workload = toll::contended_increment::Workload<C>;
    static const auto parameters = Workload::parameters();
    const std::string word = "threads=" + std::to_string(threads);
    const std::array<std::string_view, 1> words{word};
    Workload workload(toll::Arguments(parameters, words));
    const toll::Clock clock = toll::Clock::system();
    const toll::Checksum answers = workload.sample(nanoseconds, clock);
    CHECK(workload.expected(nanoseconds.size()) == nanoseconds.size());
    if (threads > 1 && answers == nanoseconds.size()) { CHECK(workload.details().at("smallest_share") <= 1); }
    return answers;
}

TEST_CASE_TEMPLATE("each increment has a time of its own, whoever made it", C, contention::FetchAdd,
                   contention::CompareExchange, contention::Locked<toll::locks::StdMutex>,
                   contention::Locked<toll::locks::StdAtomicFlag>) {
    for (const unsigned threads : {1U, 2U, 4U}) {
        CAPTURE(threads);
        std::array<float, 500> nanoseconds{};
        nanoseconds.fill(-1);
        CHECK(sampled<C>(threads, nanoseconds) == nanoseconds.size());
        CHECK(std::ranges::all_of(nanoseconds, [](float entry) { return entry >= 0; }));
    }
}

/// An increment that takes 30 ticks.
class Taking30 {
public:
    std::uint64_t draw(std::uint64_t goal) {
        clock->advance(30);
        return counter_.draw(goal);
    }
    [[nodiscard]] std::uint64_t count() const { return counter_.count(); }
    static inline toll::FakeClock* clock = nullptr;

private:
    contention::CompareExchange counter_;
};

TEST_CASE("an increment's time is without the clock's own, as that is while threads are at work") {
    using Workload = toll::contended_increment::Workload<Taking30>;
    const auto parameters = Workload::parameters();
    const std::array<std::string_view, 1> words{"threads=1"};
    Workload workload(toll::Arguments(parameters, words));
    toll::FakeClock clock(1, 10);
    clock.read_in(16);  // from now on somebody works on the core's other hardware thread
    Taking30::clock = &clock;
    std::array<float, 20> nanoseconds{};
    CHECK(workload.sample(nanoseconds, clock) == nanoseconds.size());
    CHECK(std::ranges::all_of(nanoseconds, [](float entry) { return entry == 30; }));
}

/// Of equal counts, one less than it was told.
class OneShort {
public:
    void add(std::uint64_t count) { counter_.add(count); }
    [[nodiscard]] std::uint64_t count() const { return counter_.count() - 1; }

private:
    contention::FetchAddAsAsked counter_;
};

template <class C>
std::pair<toll::Checksum, toll::Checksum> rounds(unsigned threads, std::span<float> nanoseconds) {
    using Workload = toll::contended_round::Workload<C>;
    static const auto parameters = Workload::parameters();
    const std::string word = "threads=" + std::to_string(threads);
    const std::array<std::string_view, 2> words{word, "increments=100"};
    Workload workload(toll::Arguments(parameters, words));
    const toll::Checksum answers = workload.sample(nanoseconds, toll::Clock::system());
    CHECK(workload.expected(nanoseconds.size()) == 100 * threads * nanoseconds.size());
    return {answers, workload.expected(nanoseconds.size())};
}

TEST_CASE_TEMPLATE("in a round each thread makes all of its increments", C, contention::FetchAddAsAsked,
                   contention::LockedAsAsked<toll::locks::StdMutex>,
                   contention::LockedAsAsked<toll::locks::StdAtomicFlag>) {
    for (const unsigned threads : {1U, 2U, 4U}) {
        CAPTURE(threads);
        std::array<float, 30> nanoseconds{};
        nanoseconds.fill(-1);
        const auto [found, expected] = rounds<C>(threads, nanoseconds);
        CHECK(found == expected);
        CHECK(std::ranges::all_of(nanoseconds, [](float entry) { return entry >= 0; }));
    }
}

TEST_CASE("a round that lost an increment has another answer") {
    std::array<float, 3> nanoseconds{};
    const auto [found, expected] = rounds<OneShort>(2, nanoseconds);
    CHECK(found == expected - nanoseconds.size());
}

TEST_CASE("a round for which a thread is missing says so, and waits for nobody") {
    std::array<float, 3> nanoseconds{};
    for (const int made : {0, 1, 2}) {
        CAPTURE(made);
        toll_test::threads_left = made;
        CHECK_THROWS_AS(rounds<contention::FetchAddAsAsked>(3, nanoseconds), std::system_error);
    }
    toll_test::threads_left = toll_test::any_number;
    CHECK(rounds<contention::FetchAddAsAsked>(3, nanoseconds).first == 900);
}

TEST_CASE("a counter that loses increments has no samples") {
    std::array<float, 50> nanoseconds{};
    CHECK(sampled<Losing>(2, nanoseconds) != nanoseconds.size());
    CHECK(sampled<Boasting>(2, nanoseconds) != nanoseconds.size());
}
