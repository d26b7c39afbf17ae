#include "workload.hpp"

#include <doctest/doctest.h>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <initializer_list>
#include <latch>
#include <map>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// Knows whether somebody waited when it was raised. Its raise goes on for a while after the other thread
/// may go, as a system call does.
struct Watched {
    static constexpr bool never_sleeps = true;
    std::atomic<bool> waiting{false};
    std::atomic<bool> raised{false};
    void raise() {
        ++raises;
        if (!waiting.load()) { ++early; }
        raised.store(true);
        for (int i = 0; i < 2000; ++i) { toll::cpu_relax(); }
    }
    void wait() {
        waiting.store(true);
        while (!raised.load()) { toll::cpu_relax(); }
    }
    void disarm() {
        waiting.store(false);
        raised.store(false);
    }
    static inline std::atomic<int> raises{0};
    static inline std::atomic<int> early{0};
};

using Workload = toll::wakeup::Workload<Watched>;

struct Semaphore {
    std::binary_semaphore semaphore{0};
    void raise() { semaphore.release(); }
    void wait() { semaphore.acquire(); }
};

struct OneShot {
    std::optional<std::latch> latch;
    void arm() { latch.emplace(1); }
    void raise() { latch->count_down(); }
    void wait() { latch->wait(); }
};

/// Takes its time before it goes to sleep, and knows whether it was signalled before that.
struct Lingering {
    std::atomic<bool> through{false};
    std::binary_semaphore semaphore{0};
    void raise() {
        if (!through.load()) { ++early; }
        semaphore.release();
    }
    void wait() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
        while (std::chrono::steady_clock::now() < until) { ::sched_yield(); }
        through.store(true);
        semaphore.acquire();
    }
    void disarm() { through.store(false); }
    static inline std::atomic<int> early{0};
};

/// One of its waits moves the waiting thread to another CPU, as the kernel does when its own is taken away.
struct Moved : Semaphore {
    void wait() {
        semaphore.acquire();
        if (--waits_until_move == 0) {
            const auto& usable = toll::usable_cpus();
            const bool on_first = toll::cpus_of_this_thread() == std::to_string(usable[0]);
            toll::pin_this_thread(on_first ? usable[1] : usable[0]);
        }
    }
    static inline std::atomic<int> waits_until_move{0};
};

/// Its wait gives the CPU up at least once, its raise never.
struct Dozing {
    std::atomic<bool> raised{false};
    void raise() { raised.store(true); }
    void wait() {
        do { std::this_thread::sleep_for(std::chrono::microseconds(100)); } while (!raised.load());
    }
    void disarm() { raised.store(false); }
};

/// Of the two signals of a workload one alone gives the CPU up: the one that the peer waits for.
struct DozingPeer : Dozing {
    static inline int made = 0;
    bool peers = made++ % 2 == 0;
    void wait() {
        if (peers) { Dozing::wait(); }
        while (!raised.load()) { toll::cpu_relax(); }
    }
};

/// Its raise gives the CPU up, its wait never.
struct DozingRaiser {
    static constexpr bool never_sleeps = true;
    std::atomic<bool> raised{false};
    void raise() {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        raised.store(true);
    }
    void wait() {
        while (!raised.load()) { toll::cpu_relax(); }
    }
    void disarm() { raised.store(false); }
};

/// Does not wait at all.
struct Hasty {
    static void raise() {}
    static void wait() {}
};

/// Cannot be raised, as a pipe whose descriptor somebody closed.
struct Unraisable : Semaphore {
    static void raise() { throw std::runtime_error("cannot be raised"); }
};

/// A clock that shows more on one CPU than on the others.
class SkewedClock : public toll::Clock {
public:
    SkewedClock(int cpu, toll::Ticks beyond_ns)
        : Clock(Source::fake, &read, 1), cpu_(cpu), beyond_ns_(beyond_ns) {}

private:
    static toll::Ticks read(const Clock* self) noexcept {
        const auto& skewed = static_cast<const SkewedClock&>(*self);
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const auto ns = static_cast<toll::Ticks>(std::chrono::nanoseconds(now).count());
        return ns + (::sched_getcpu() == skewed.cpu_ ? skewed.beyond_ns_ : 0);
    }
    int cpu_;
    toll::Ticks beyond_ns_;
};

struct Seen {
    toll::Checksum answers = 0;
    toll::Checksum expected = 0;
    std::map<std::string, std::string> footing;
    toll::Details details;
    long switches_of_asker = 0;  ///< how often the thread that asked for the samples gave its CPU up
};

long switches_of_this_thread() {
    rusage mine{};
    ::getrusage(RUSAGE_THREAD, &mine);
    return mine.ru_nvcsw;
}

template <class S>
Seen measured(std::initializer_list<std::string_view> words) {
    static const toll::Clock clock = toll::Clock::system();
    const auto parameters = toll::wakeup::Workload<S>::parameters();
    // The workload ties the thread that makes it: this one shall stay free.
    return std::async(std::launch::async,
                      [&] {
                          const std::vector<std::string_view> all(words);
                          toll::wakeup::Workload<S> workload(toll::Arguments(parameters, all));
                          std::array<float, 100> nanoseconds{};
                          Seen seen;
                          const long before = switches_of_this_thread();
                          seen.answers = workload.sample(nanoseconds, clock);
                          seen.switches_of_asker = switches_of_this_thread() - before;
                          seen.expected = workload.expected(nanoseconds.size());
                          seen.details = workload.details();
                          const toll::Footing footing = workload.footing();
                          for (const auto& [name, value] : footing.all()) {
                              if (const auto* text = std::get_if<std::string>(&value)) {
                                  seen.footing[name] = *text;
                              }
                          }
                          return seen;
                      })
        .get();
}

/// The sentence that says why it cannot be measured so; "" where it can.
template <class S>
std::string why_refused(std::initializer_list<std::string_view> words) {
    try {
        measured<S>(words);
        return {};
    } catch (const toll::Unsupported& refusal) { return refusal.what(); }
}

/// How the machine was made smaller for this test (tests/cpp/latency/restricted.cpp); "" where it was not.
std::string restricted() {
    const char* how = std::getenv("TOLL_TEST_MACHINE");
    return how == nullptr ? "" : how;
}

}  // namespace

TEST_CASE("a signal that cannot be raised ends the process, whose waiter sleeps for good") {
    for (const std::string_view mode : {"mode=parked", "mode=hot", "mode=announced"}) {
        CAPTURE(mode);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::close(STDERR_FILENO);      // what std::terminate says of it
            ::signal(SIGABRT, SIG_DFL);  // not doctest's report
            ::alarm(30);
            try {
                measured<Unraisable>({mode});
            } catch (...) {}  // not raised at all; else the child would go on with the other tests
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGABRT);
    }
}

TEST_CASE("nobody is signalled before it waits") {
    if (toll::usable_cpus().size() < 2 || !restricted().empty()) {
        MESSAGE("not checked: needs a CPU for each thread");
        return;
    }
    const toll::Clock clock = toll::Clock::system();
    const auto parameters = Workload::parameters();
    for (const std::string_view mode : {"mode=hot", "mode=parked"}) {
        CAPTURE(mode);
        const std::array words{mode};
        int waited = 0;
        // The first signal of a hot sample is the way there, untimed; an interruption may hit the step
        // between a thread's announcement and its wait. Most of five attempts, as one alone says too little
        // on a machine that compiles meanwhile.
        for (int attempt = 0; attempt < 5; ++attempt) {
            Watched::raises = Watched::early = 0;
            Workload workload(toll::Arguments(parameters, words));
            std::array<float, 400> nanoseconds{};
            CHECK(workload.sample(nanoseconds, clock) == workload.expected(nanoseconds.size()));
            waited += Watched::early * 10 <= Watched::raises ? 1 : 0;
        }
        CHECK(waited >= 3);
    }
}

TEST_CASE("a parked waiter is seen asleep before it is signalled, however long it takes to get there") {
    const auto seen = measured<Lingering>({"mode=parked"});
    CHECK(seen.answers == seen.expected);
    CHECK(Lingering::early == 0);
}

TEST_CASE("an announced wait is signalled by a thread that slept until it heard of it") {
    const auto seen = measured<Semaphore>({"mode=announced"});
    CHECK(seen.answers == seen.expected);
    CHECK(seen.switches_of_asker >= static_cast<long>(seen.expected));
    CHECK(seen.footing.at("sleep_seen_by").find("/proc/self/task/TID/") == 0);
    // It does not wait for the waiter: this one is signalled while it is still on its way to sleep.
    Lingering::early = 0;
    const auto lingered = measured<Lingering>({"mode=announced"});
    CHECK(lingered.answers == lingered.expected);
    CHECK(Lingering::early > 0);
    Lingering::early = 0;
}

TEST_CASE("a mode that does not exist is refused") {
    CHECK(why_refused<Semaphore>({"mode=warm"}).find("parked, hot or announced") != std::string::npos);
}

TEST_CASE("a thread whose state cannot be read is not taken for asleep") {
    const toll::latency::Sleeper nobody;
    CHECK_THROWS_WITH_AS(nobody.await_asleep([] { return false; }, [] {}),
                         doctest::Contains("/proc/self/task"), toll::Unsupported);
}

TEST_CASE("times of a CPU that was taken away meanwhile are no times of it") {
    if (toll::usable_cpus().size() < 2 || restricted() == "no_affinity") {
        MESSAGE("not checked: needs two CPUs that threads can be tied to");
        return;
    }
    for (const std::string_view mode : {"mode=hot", "mode=parked", "mode=announced"}) {
        CAPTURE(mode);
        // Late: two threads that poll on one CPU take a time slice for each step. In hot mode both wait; an
        // odd number is the peer's.
        Moved::waits_until_move = 95;
        CHECK(why_refused<Moved>({mode}).find("was taken away while it was measured") != std::string::npos);
    }
}

TEST_CASE("what the second CPU's clock shows beyond the first's is taken out, whichever of them signals") {
    if (toll::usable_cpus().size() < 2 || !restricted().empty()) {
        MESSAGE("not checked: needs two CPUs that threads can be tied to");
        return;
    }
    // Far more than a busy machine adds: a sample from which it is not taken, or taken with the wrong sign,
    // is a thousand seconds too long, or below zero and hence 0.
    constexpr double beyond_ns = 1e12;
    toll::latency::Topology topology;
    const toll::latency::Pair pair = toll::latency::choose_pair("auto", toll::usable_cpus(), topology);
    const SkewedClock clock(pair.cpus[1], static_cast<toll::Ticks>(beyond_ns));
    const double measured_ns = toll::measure_offset(clock, pair.cpus[0], pair.cpus[1], 200).ns;
    CHECK(measured_ns == doctest::Approx(beyond_ns).epsilon(0.01));
    const auto parameters = Workload::parameters();
    for (const std::string_view mode : {"mode=hot", "mode=parked", "mode=announced"}) {
        CAPTURE(mode);
        std::array<float, 50> nanoseconds{};
        std::async(std::launch::async, [&] {
            const std::array words{mode};
            Workload workload(toll::Arguments(parameters, words), measured_ns);
            CHECK(workload.sample(nanoseconds, clock) == workload.expected(nanoseconds.size()));
        }).get();
        CHECK(std::ranges::max(nanoseconds) < beyond_ns / 2);
        std::ranges::nth_element(nanoseconds, nanoseconds.begin() + 25);
        CHECK(nanoseconds[25] > 0);
    }
}

TEST_CASE("on one CPU those that sleep take turns, and those that never sleep are refused") {
    for (const std::string_view mode : {"mode=hot", "mode=parked", "mode=announced"}) {
        CAPTURE(mode);
        if (why_refused<Watched>({mode, "placement=same_core"}).empty()) { FAIL("a spinner was measured"); }
        if (restricted() == "no_affinity") { continue; }
        const auto seen = measured<Semaphore>({mode, "placement=same_core"});
        CHECK(seen.answers == seen.expected);
        CHECK(seen.footing.at("placement") == "same_core");
    }
}

TEST_CASE("what the process may use decides, and the footing says what it was") {
    for (const std::string_view mode : {"mode=hot", "mode=parked", "mode=announced"}) {
        CAPTURE(mode);
        const auto seen = measured<Semaphore>({mode});
        CHECK(seen.answers == seen.expected);
        if (toll::usable_cpus().size() < 2) {
            CHECK(seen.footing.at("placement") == "same_core");
            CHECK(why_refused<Watched>({mode}).find("may use one CPU") != std::string::npos);
            CHECK(why_refused<Semaphore>({mode, "placement=cluster"}).find("one CPU alone") !=
                  std::string::npos);
        } else if (restricted() == "no_affinity") {
            CHECK(seen.footing.at("pinned_cpus").find("cannot be tied") != std::string::npos);
            CHECK(why_refused<Watched>({mode}).find("cannot be tied") != std::string::npos);
            CHECK(why_refused<Semaphore>({mode, "placement=same_core"}).find("cannot be tied") !=
                  std::string::npos);
        } else if (toll::usable_cpus().size() > 1) {
            CHECK(seen.footing.at("placement") != "same_core");
            CHECK(seen.footing.at("clock_offset_ns").find("removed") != std::string::npos);
        }
    }
}

TEST_CASE("how many waits gave their CPU up is told, whichever thread waits") {
    for (const std::string_view mode : {"mode=hot", "mode=parked", "mode=announced"}) {
        CAPTURE(mode);
        auto slept = measured<Dozing>({mode});
        // A peer that a neighbour keeps from its CPU is signalled before it waits, and need not sleep then;
        // hence not the first request alone.
        for (int again = 0; again < 5 && slept.details.at("slept_share") <= 0.9; ++again) {
            CHECK(slept.answers == slept.expected);
            slept = measured<Dozing>({mode});
        }
        CHECK(slept.answers == slept.expected);
        CHECK(slept.details.at("slept_share") > 0.9);
        CHECK(slept.footing.at("waits") == (mode == "mode=parked"
                                                ? "sleeps in the kernel"
                                                : "whatever it had come to: no wait yet, polling or asleep"));
        if (toll::usable_cpus().size() < 2 || !restricted().empty()) { continue; }
        // Not 0: what a page of the program is waited for counts as well.
        const auto spun = measured<Watched>({mode});
        CHECK(spun.details.at("slept_share") < 0.5);
        CHECK(spun.footing.at("waits") == "spins");
    }
    if (toll::usable_cpus().size() < 2 || !restricted().empty()) { return; }
    // Whose wait is not timed: hot the peer, parked the thread that asks for the samples.
    CHECK(measured<DozingPeer>({"mode=hot"}).details.at("slept_share") < 0.5);
    CHECK(measured<DozingRaiser>({"mode=parked"}).details.at("slept_share") < 0.5);
}

TEST_CASE("what serves one wait alone is made anew for each") {
    for (const std::string_view mode : {"mode=hot", "mode=parked", "mode=announced"}) {
        CAPTURE(mode);
        const auto seen = measured<OneShot>({mode});
        CHECK(seen.answers == seen.expected);
    }
}

TEST_CASE("a wait that returns before its signal is no answer") {
    // Parked mode gives up waiting for it to sleep, and the sample's answer is 0.
    CHECK(measured<Hasty>({"mode=parked"}).answers == 0);
}
