#include "thread_start/posix_starter.hpp"
#include "thread_start/spawned_process.hpp"
#include "thread_start/waiting_pool.hpp"
#include "thread_start/workload.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <string>
#include <string_view>

namespace {

/// While it is set, to a process's number, that one alone may read the C library's clock: a child ends.
constexpr const char* alone_reads_the_time = "TOLL_TEST_ALONE_READS_THE_TIME";

}  // namespace

/// Stands before the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const char* const alone = std::getenv(alone_reads_the_time);
    if (alone != nullptr && std::to_string(::getpid()) != alone) { std::_Exit(1); }
    static const auto theirs =
        reinterpret_cast<decltype(&clock_gettime)>(::dlsym(RTLD_NEXT, "clock_gettime"));
    return theirs(clock, time);
}

namespace {

using toll::thread_start::Arrival;
using toll::thread_start::Workload;

/// Runs the function where it was asked for: no thread at all.
struct Inline {
    static void start(Arrival& arrival) { arrival(); }
    static void finish() {}
};

/// Forgets every second function.
struct Forgetful {
    std::thread thread;
    bool forget = false;
    void start(Arrival& arrival) {
        thread = std::thread([&arrival, forgotten = forget] {
            if (!forgotten) { arrival(); }
        });
        forget = !forget;
    }
    void finish() { thread.join(); }
};

/// Makes the thread run only once its maker has gone on.
struct Late {
    std::promise<void> gone_on;
    std::thread thread;
    void start(Arrival& arrival) {
        gone_on = {};
        thread = std::thread([&arrival, go = gone_on.get_future()] {
            go.wait();
            arrival();
        });
    }
    void finish() {
        std::this_thread::sleep_for(std::chrono::nanoseconds(delay_ns));
        gone_on.set_value();
        thread.join();
    }
    static constexpr std::int64_t delay_ns = 2'000'000;
};

/// The function runs in a thread that is tied to a CPU.
struct Tied {
    static inline int cpu = 0;
    std::thread thread;
    void start(Arrival& arrival) {
        thread = std::thread([&arrival] {
            toll::pin_this_thread(cpu);
            arrival();
        });
    }
    void finish() { thread.join(); }
};

/// A started process that says on which CPU it ran, or that it does not know.
struct Told {
    static inline int cpu = 0;
    Arrival* arrival = nullptr;
    void start(Arrival& expected) { arrival = &expected; }
    void finish() const { arrival->repeat(arrival->clock().stop(), arrival->number(), true, cpu); }
};

template <class S>
struct Measured {
    toll::Checksum answers;
    toll::Checksum expected;
    std::array<float, 40> ns;
    toll::Details details;
};

template <class S>
Measured<S> measured(std::string_view quantity) {
    static const toll::Clock clock = toll::Clock::system();
    const auto parameters = Workload<S>::parameters();
    const std::array words{quantity};
    Workload<S> workload(toll::Arguments(parameters, words));
    Measured<S> seen{};
    seen.answers = workload.sample(seen.ns, clock);
    seen.expected = workload.expected(seen.ns.size());
    seen.details = workload.details();
    return seen;
}

}  // namespace

TEST_CASE("every start is answered by the function that it started") {
    for (const std::string_view quantity : {"quantity=cost", "quantity=latency"}) {
        CAPTURE(quantity);
        const auto threads = measured<toll::thread_start::PosixThread>(quantity);
        CHECK(threads.answers == threads.expected);
        const auto pooled =
            measured<toll::thread_start::PooledTask<toll::thread_start::WaitingPool>>(quantity);
        CHECK(pooled.answers == pooled.expected);
        CHECK(std::ranges::all_of(pooled.ns, [](float ns) { return ns > 0; }));
    }
}

TEST_CASE("what a started process uses is told with its starts; threads' is this process's own") {
    const auto parameters = Workload<Tied>::parameters();
    const std::array<std::string_view, 1> words{"quantity=cost"};
    const toll::Clock clock = toll::Clock::system();
    std::array<float, 3> ns{};
    Workload<toll::thread_start::SpawnedProcess> processes(toll::Arguments(parameters, words));
    CHECK(processes.sample(ns, clock) == processes.expected(3));
    const toll::Resources three = processes.used_elsewhere();
    CHECK(three.cpu_ns > 0);
    CHECK(three.minor_faults > 3);
    CHECK(processes.sample(std::span(ns).first(1), clock) == processes.expected(1));
    CHECK(processes.used_elsewhere().minor_faults < three.minor_faults);  // of the last request alone
    Workload<toll::thread_start::PosixThread> threads(toll::Arguments(parameters, words));
    CHECK(threads.sample(ns, clock) == threads.expected(3));
    CHECK(threads.used_elsewhere().cpu_ns == 0);
}

TEST_CASE("a started process reads its starter's clock, and no other one") {
    const auto parameters = Workload<Tied>::parameters();
    const std::array<std::string_view, 1> words{"quantity=latency"};
    const char* const set = std::getenv("TOLL_CLOCK");
    const std::string former = set == nullptr ? "" : set;  // empty: as if it was not set
    for (const std::string wanted : {"counter", "monotonic"}) {
        CAPTURE(wanted);
        ::setenv("TOLL_CLOCK", wanted.c_str(), 1);
        const toll::Clock clock = toll::Clock::system();
        if (clock.source() != toll::Clock::Source::monotonic) {
            ::setenv(alone_reads_the_time, std::to_string(::getpid()).c_str(), 1);
        }
        Workload<toll::thread_start::SpawnedProcess> workload(toll::Arguments(parameters, words),
                                                              toll::ClockOffset{});
        std::array<float, 3> ns{};
        const auto begin = clock.start();
        CHECK(workload.sample(ns, clock) == workload.expected(ns.size()));
        const double all_ns = clock.elapsed_ns(begin, clock.stop());
        CHECK(std::ranges::all_of(ns, [&](float one) { return one > 0 && one < all_ns; }));
        ::unsetenv(alone_reads_the_time);
    }
    ::setenv("TOLL_CLOCK", former.c_str(), 1);
}

TEST_CASE("a function that ran in its maker, or not at all, is no answer") {
    CHECK(measured<Inline>("quantity=latency").answers == 0);
    CHECK(measured<Forgetful>("quantity=latency").answers == 20);
}

TEST_CASE("cost ends where the maker goes on, latency where the function runs") {
    const auto cost = measured<Late>("quantity=cost");
    const auto latency = measured<Late>("quantity=latency");
    CHECK(cost.answers == cost.expected);
    const auto fastest = [](const auto& seen) { return *std::ranges::min_element(seen.ns); };
    CHECK(fastest(latency) >= Late::delay_ns);
    CHECK(fastest(cost) < Late::delay_ns);
    CHECK_THROWS_AS(measured<Late>("quantity=both"), toll::Unsupported);
}

TEST_CASE("how many functions ran on the CPU that they were started from is told") {
    const int first = toll::usable_cpus().front();
    const int last = toll::usable_cpus().back();
    std::optional<toll::PinnedHere> here;
    try {
        here.emplace(first);
    } catch (const toll::Unsupported&) {
        MESSAGE("not checked: threads cannot be tied to CPUs");
        return;
    }
    for (const std::string_view quantity : {"quantity=cost", "quantity=latency"}) {
        CAPTURE(quantity);
        Tied::cpu = Told::cpu = first;
        CHECK(measured<Tied>(quantity).details.at("same_cpu_share") == 1);
        CHECK(measured<Told>(quantity).details.at("same_cpu_share") == 1);
        Told::cpu = -1;
        CHECK(measured<Told>(quantity).details.empty());
        if (last == first) { continue; }
        Tied::cpu = Told::cpu = last;
        CHECK(measured<Tied>(quantity).details.at("same_cpu_share") == 0);
        CHECK(measured<Told>(quantity).details.at("same_cpu_share") == 0);
    }
}

TEST_CASE("no latency is told where the CPUs' clocks disagree; a cost is one thread's own") {
    const auto parameters = Workload<Tied>::parameters();
    const auto made = [&](std::string_view quantity, const toll::ClockOffset& offset) {
        const std::array words{quantity};
        const Workload<Tied> workload(toll::Arguments(parameters, words), offset);
    };
    const toll::ClockOffset one{.ns = -40, .uncertainty_ns = 40};
    const toll::ClockOffset two{.ns = -41, .uncertainty_ns = 40};
    CHECK_NOTHROW(made("quantity=latency", one));
    CHECK_NOTHROW(made("quantity=cost", two));
    CHECK_THROWS_WITH_AS(made("quantity=latency", two), doctest::Contains("disagree by -41"),
                         toll::Unsupported);
}
