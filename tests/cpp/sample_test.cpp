#include "toll/sample.hpp"

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("every operation's time is its own, the overhead removed from each") {
    toll::FakeClock clock(0.5, 6);  // an interval around nothing reads 3 ns
    std::vector<float> ns(4, -1.0F);
    toll::Ticks work = 0;
    const toll::Checksum sum = toll::time_each(ns, clock, [&] {
        clock.advance(work += 10);
        return work;
    });
    CHECK(sum == 10 + 20 + 30 + 40);
    CHECK(ns == std::vector<float>{5, 10, 15, 20});
}

TEST_CASE("short, long and reversed intervals") {
    const toll::FakeClock clock(0.5);
    std::vector<float> ns(8, -1.0F);
    toll::SampleRecorder recorder(ns, clock);
    recorder.record(5, 5);
    recorder.record(7, 5);                             // clocks of two cores may disagree
    recorder.record(0, (toll::Ticks{1} << 31) - 1);    // the longest that is kept as it is
    recorder.record(0, toll::Ticks{1} << 31);          // the shortest that is kept in steps of 256
    recorder.record(0, (toll::Ticks{1} << 36) + 255);  // 34 s
    recorder.record(0, toll::Ticks{1} << 62);          // absurd: the largest that fits
    CHECK(recorder.recorded() == 6);
    recorder.finish();
    CHECK(ns[0] == 0.0F);
    CHECK(ns[1] == 0.0F);
    CHECK(ns[2] == doctest::Approx(1073741823.5).epsilon(1e-6));
    CHECK(ns[3] == doctest::Approx(1073741824.0).epsilon(1e-6));
    CHECK(ns[4] == doctest::Approx(34359738368.0).epsilon(1e-6));
    CHECK(ns[5] == doctest::Approx(274877906688.0).epsilon(1e-6));
    CHECK(ns[6] == -1.0F);
}

TEST_CASE("more operations than entries are left out") {
    const toll::FakeClock clock;
    std::vector<float> ns(2);
    toll::SampleRecorder recorder(ns, clock);
    for (toll::Ticks i = 1; i <= 5; ++i) { recorder.record(0, i); }
    recorder.finish();
    CHECK(recorder.recorded() == 2);
    CHECK(ns == std::vector<float>{1, 2});
}

TEST_CASE("a clock that has become dearer is measured again, not too often") {
    toll::FakeClock clock(0.5, 20);
    CHECK(clock.overhead_ns() == 10.0);
    std::vector<float> ns(2);
    const auto recorded = [&] {
        toll::SampleRecorder recorder(ns, clock);
        recorder.record(0, 40);
        recorder.record(0, 20);  // no more than the clock itself takes
        recorder.finish();
        return ns;
    };
    CHECK(recorded() == std::vector<float>{10, 0});
    clock.read_in(28);
    CHECK(recorded() == std::vector<float>{10, 0});  // it was measured a moment ago
    clock.advance(1'000'000);
    CHECK(recorded() == std::vector<float>{6, 0});
    CHECK(clock.overhead_lately_ns() == 14.0);
    CHECK(clock.overhead_ns() == 10.0);
    clock.measure_overhead();
    CHECK(clock.overhead_ns() == 14.0);
    clock.read_in(20);
    clock.advance(100'000);
    CHECK(clock.overhead_lately_ns() == 14.0);
    clock.advance(1'000'000);
    const toll::FakeClock copy = clock;
    CHECK(copy.overhead_lately_ns() == 10.0);
}
