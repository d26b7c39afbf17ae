#include "toll/counters.hpp"

#include <doctest/doctest.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "toll/batch.hpp"
#include "toll/errors.hpp"

TEST_CASE("counts are scaled up by the time without a hardware counter") {
    using toll::CounterReading;
    CHECK(toll::scaled_count({100, 10, 10}, {300, 30, 30}) == 200.0);
    CHECK(toll::scaled_count({100, 10, 10}, {300, 50, 20}) == 800.0);  // ran a quarter of the time
    CHECK(toll::scaled_count({100, 10, 10}, {100, 50, 10}) == -1.0);   // never ran: no estimate
    CHECK(toll::scaled_count({100, 10, 10}, {}) == -1.0);              // could not be read
}

TEST_CASE("a counter that has the hardware and does not move stands still") {
    CHECK(toll::stood_still({100, 10, 10}, {100, 20, 20}));
    CHECK_FALSE(toll::stood_still({100, 10, 10}, {300, 20, 20}));
    CHECK_FALSE(toll::stood_still({100, 10, 10}, {100, 20, 10}));  // did not have it
}

TEST_CASE("every failure has a sentence that names the event and what to do") {
    CHECK(toll::counter_failure(EACCES, "cycles").find("perf_event_paranoid") != std::string::npos);
    CHECK(toll::counter_failure(ENOENT, "cycles").find("virtual machine") != std::string::npos);
    CHECK(toll::counter_failure(ENOSYS, "cycles").find("sandbox") != std::string::npos);
    CHECK(toll::counter_failure(EMFILE, "cycles").find("ulimit") != std::string::npos);
    CHECK(toll::counter_failure(EIO, "cycles").find("cycles") != std::string::npos);
}

TEST_CASE("nobody asked: none open, and the reason says how to ask") {
    unsetenv("TOLL_COUNTERS");
    const toll::Counters none = toll::Counters::from_environment();
    CHECK(none.names().empty());
    CHECK(none.reason().find("TOLL_COUNTERS=1") != std::string::npos);
}

TEST_CASE("hardware events are counted here or there is a reason") {
    setenv("TOLL_COUNTERS", "1", 1);
    const toll::Counters counters = toll::Counters::from_environment();
    unsetenv("TOLL_COUNTERS");
    CHECK((counters.names().size() == 4) == counters.reason().empty());
}

TEST_CASE("an unknown name is a usage error") {
    CHECK_THROWS_AS((void)toll::Counters::open({"instructions", "wishes"}), toll::UsageError);
    for (const std::string& name : toll::Counters::known_names()) {
        CHECK_NOTHROW((void)toll::Counters::open({name}));
    }
}

TEST_CASE("threads made later are inherited") {
    const toll::Counters counters = toll::Counters::open({"task_clock_ns"});
    if (!counters.reason().empty()) {
        MESSAGE("not checked: ", counters.reason());
        return;
    }
    const auto burn = [](std::int64_t ns) {
        timespec now{};
        const auto read = [&] {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
            return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
        };
        const std::int64_t end = read() + ns;
        while (read() < end) {}
    };
    const toll::FakeClock clock;
    const toll::Batch alone = toll::time_batch(clock, counters, [&] {
        burn(20'000'000);
        return toll::Checksum{0};
    });
    const toll::Batch both = toll::time_batch(clock, counters, [&] {
        std::thread(burn, 40'000'000).join();
        burn(20'000'000);
        return toll::Checksum{0};
    });
    REQUIRE(alone.counters.size() == 1);
    CHECK(alone.counters[0].first == "task_clock_ns");
    CHECK(both.counters[0].second / alone.counters[0].second == doctest::Approx(3).epsilon(0.15));
}
