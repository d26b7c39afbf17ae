#include "toll/resources.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "toll/batch.hpp"
#include "toll/keep.hpp"

namespace {

std::int64_t thread_cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void use_cpu(std::int64_t ns) {
    const std::int64_t end = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < end) {}
}

toll::Batch timed(const std::function<void()>& work, toll::Scope scope = toll::Scope::process) {
    static const toll::Clock clock = toll::Clock::system();
    const auto run = [&] {
        work();
        return toll::Checksum{0};
    };
    return toll::time_batch(clock, toll::Counters(), run, scope);
}

// The least of five: what a busy machine adds to a thread between two looks at its clock is not of the
// counting. On one that was, 30 ms took 37.
double least_cpu_ns(const std::function<toll::Batch()>& batch) {
    auto least = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 5; ++attempt) {
        least = std::min(least, static_cast<double>(batch().used.cpu_ns));
    }
    return least;
}

constexpr std::int64_t share = 30'000'000;

toll::Batch beside_a_living_thread() {
    std::atomic<bool> done{false};
    std::atomic<bool> leave{false};
    std::thread living;
    const toll::Batch alive = timed([&] {
        living = std::thread([&] {
            use_cpu(2 * share);
            done = true;
            done.notify_one();
            leave.wait(false);
        });
        done.wait(false);  // asleep: looking again and again would cost CPU time
        use_cpu(share);
    });
    leave = true;
    leave.notify_one();
    living.join();
    return alive;
}

}  // namespace

TEST_CASE("the CPU time of other threads counts, of those that ended and of those that live") {
    const double used_ns = least_cpu_ns([] { return timed([] { use_cpu(share); }); });
    const double ended_ns = least_cpu_ns([] {
        return timed([] {
            const std::jthread other([] { use_cpu(2 * share); });
            use_cpu(share);
        });
    });
    CHECK(ended_ns / used_ns == doctest::Approx(3).epsilon(0.1));
    CHECK(least_cpu_ns(beside_a_living_thread) / used_ns == doctest::Approx(3).epsilon(0.1));
}

TEST_CASE("in a thread's scope the others do not count") {
    const toll::Batch alone = timed([] { use_cpu(share); });
    const toll::Batch beside = timed(
        [] {
            const std::jthread other([] {
                for (int i = 0; i < 50; ++i) { usleep(100); }
                use_cpu(2 * share);
            });
            use_cpu(share);
        },
        toll::Scope::thread);
    const auto used = static_cast<double>(alone.used.cpu_ns);
    CHECK(static_cast<double>(beside.used.cpu_ns) / used == doctest::Approx(1).epsilon(0.1));
    CHECK(beside.used.voluntary_switches < 50);
}

TEST_CASE("sleeping takes wall time and no CPU time, and switches voluntarily") {
    const toll::Batch batch = timed([] {
        for (int i = 0; i < 10; ++i) { usleep(2000); }
    });
    CHECK(static_cast<double>(batch.used.cpu_ns) < 0.5 * batch.wall_ns);
    CHECK(batch.used.voluntary_switches >= 10);
    CHECK(batch.used.voluntary_switches < 100);
}

TEST_CASE("switches of other threads count") {
    // As many as the thread itself saw: one that is preempted as it falls asleep may not block at all, so
    // that 50 sleeps need not be 50 switches.
    long own = 0;
    const toll::Batch batch = timed([&own] {
        const std::jthread other([&own] {
            for (int i = 0; i < 50; ++i) { usleep(100); }
            rusage seen{};
            getrusage(RUSAGE_THREAD, &seen);
            own = seen.ru_nvcsw;
        });
    });
    CHECK(own > 0);
    CHECK(batch.used.voluntary_switches >= own);
}

TEST_CASE("first touches of pages are minor faults, and outside work does not count") {
    constexpr std::size_t pages = 500;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto map = [&] {
        void* at = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(at != MAP_FAILED);
        madvise(at, pages * page, MADV_NOHUGEPAGE);
        return static_cast<volatile char*>(at);
    };
    const auto touch = [&](volatile char* at) {
        for (std::size_t i = 0; i < pages; ++i) { at[i * page] = 1; }
    };
    // What the same touches cost here: one fault a page, or more where a sanitizer shadows memory.
    volatile char* reference = map();
    const auto before = toll::Resources::at_start();
    touch(reference);
    const std::int64_t expected = (toll::Resources::at_stop() - before).minor_faults;
    CHECK(expected >= static_cast<std::int64_t>(pages));

    volatile char* inside = map();
    touch(map());  // before the timed part
    const toll::Batch batch = timed([&] { touch(inside); });
    touch(map());  // after it
    CHECK(batch.used.minor_faults >= static_cast<std::int64_t>(pages));
    CHECK(batch.used.minor_faults < expected + static_cast<std::int64_t>(pages) / 2);
    CHECK(batch.used.major_faults == 0);
}

TEST_CASE("the peak rises with what was resident and does not fall again") {
    const std::int64_t before = toll::peak_resident_bytes();
    constexpr std::size_t size = 64 << 20;
    {
        std::vector<char> much(size, 1);
        toll::keep(much);
    }
    const std::int64_t after = toll::peak_resident_bytes();
    CHECK(before > 0);
    CHECK(after - before > static_cast<std::int64_t>(size) / 2);
}

TEST_CASE("an empty timed part costs next to nothing beside a busy one") {
    // What the kernel does in an interrupt is booked on whom it hits: the least of several counts.
    auto least_cpu_ns = std::numeric_limits<std::int64_t>::max();
    auto fewest_switches = std::numeric_limits<std::int64_t>::max();
    for (int attempt = 0; attempt < 20; ++attempt) {
        const toll::Resources used = timed([] {}).used;
        least_cpu_ns = std::min<std::int64_t>(least_cpu_ns, used.cpu_ns);
        fewest_switches = std::min<std::int64_t>(fewest_switches, used.voluntary_switches);
    }
    const toll::Batch busy = timed([] { use_cpu(10'000'000); });
    CHECK(least_cpu_ns * 100 < busy.used.cpu_ns);
    CHECK(fewest_switches == 0);
}
