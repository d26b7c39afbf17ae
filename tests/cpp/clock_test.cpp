#include "toll/clock.hpp"

#include <doctest/doctest.h>
#include <time.h>

#include <cmath>
#include <cstdlib>

#include "toll/errors.hpp"

namespace {

double monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Sets a variable for one scope.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~Variable() { unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
};

}  // namespace

TEST_CASE("a fake clock is exact") {
    toll::FakeClock clock(0.5);
    CHECK(clock.overhead_ns() == 0);
    CHECK(clock.frequency_hz() == 2e9);
    const toll::Ticks from = clock.start();
    clock.advance(84);
    CHECK(clock.elapsed_ns(from, clock.stop()) == 42.0);
    CHECK(clock.raw_ns(from, clock.stop()) == 42.0);
}

TEST_CASE("the overhead is what an interval around nothing reads, and is removed") {
    toll::FakeClock clock(2.0, 7);
    CHECK(clock.overhead_ns() == 14.0);
    const toll::Ticks from = clock.start();
    const toll::Ticks to = clock.stop();
    CHECK(clock.raw_ns(from, to) == 14.0);
    CHECK(clock.elapsed_ns(from, to) == 0.0);
    const toll::Ticks again = clock.start();
    clock.advance(50);
    CHECK(clock.elapsed_ns(again, clock.stop()) == 100.0);
}

/// Of four intervals around nothing three take `mostly` and one `now and then`; and twice somebody
/// interrupts.
class CoarseClock : public toll::Clock {
public:
    CoarseClock(toll::Ticks mostly, toll::Ticks now_and_then)
        : Clock(Source::fake, &read, 1), mostly_(mostly), now_and_then_(now_and_then) {
        measure_overhead();
    }

private:
    static toll::Ticks read(const Clock* self) noexcept {
        const auto& coarse = static_cast<const CoarseClock&>(*self);
        ++coarse.reads_;
        const bool longer = coarse.reads_ % 8 == 0 || coarse.reads_ % 8 == 3;  // every fourth end of one
        const bool interrupted = coarse.reads_ == 200 || coarse.reads_ == 301;
        coarse.now_ += (longer ? coarse.now_and_then_ : coarse.mostly_) + (interrupted ? 50'000 : 0);
        // A step of 41.67 ns is read as 41 or 42.
        if (coarse.mostly_ == 42 && coarse.reads_ % 5 == 0) { --coarse.now_; }
        return coarse.now_;
    }
    toll::Ticks mostly_;
    toll::Ticks now_and_then_;
    mutable toll::Ticks now_ = 0;
    mutable int reads_ = 0;
};

TEST_CASE("the overhead is finer than the steps of a coarse clock, and without interruptions") {
    CHECK(CoarseClock(20, 30).overhead_ns() == doctest::Approx(22.5).epsilon(0.01));
    CHECK(CoarseClock(30, 20).overhead_ns() == doctest::Approx(27.5).epsilon(0.01));
    CHECK(CoarseClock(0, 40).overhead_ns() == doctest::Approx(10.0).epsilon(0.01));
    CHECK(CoarseClock(42, 83).overhead_ns() == doctest::Approx(52.05).epsilon(0.01));
    CHECK(CoarseClock(26, 30).overhead_ns() == doctest::Approx(27.0).epsilon(0.01));
}

TEST_CASE("an interval that ends before it began is no time, and never an enormous one") {
    const toll::FakeClock clock;
    CHECK(clock.raw_ns(100, 60) == -40.0);
    CHECK(clock.elapsed_ns(100, 60) == 0.0);
}

TEST_CASE("the resolution is the step that the clock makes") {
    CHECK(toll::FakeClock(0.25, 20).resolution_ns() == 5.0);
    CHECK(toll::FakeClock(0.25, 1).resolution_ns() == 0.25);
}

TEST_CASE("the system's clock agrees with the monotonic clock") {
    const toll::Clock clock = toll::Clock::system();
    CAPTURE(clock.reason());
    CHECK(clock.frequency_hz() > 0);
    CHECK(clock.resolution_ns() > 0);
    CHECK((clock.source() == toll::Clock::Source::monotonic) == !clock.reason().empty());
    // A ratio of two clocks over the same stretch. An interruption between two reads can spoil one
    // stretch, so the best of several counts.
    double best = 1;
    for (int attempt = 0; attempt < 20; ++attempt) {
        const double before = monotonic_ns();
        const toll::Ticks from = clock.start();
        double after = before;
        while (after < before + 5e6) { after = monotonic_ns(); }
        const toll::Ticks to = clock.stop();
        best = std::min(best, std::abs(clock.raw_ns(from, to) / (after - before) - 1));
    }
    CHECK(best < 1e-3);
}

TEST_CASE("ticks never run backwards in one thread") {
    const toll::Clock clock = toll::Clock::system();
    toll::Ticks last = clock.start();
    for (int i = 0; i < 10'000; ++i) {
        const toll::Ticks now = i % 2 == 0 ? clock.stop() : clock.start();
        REQUIRE(now >= last);
        last = now;
    }
}

TEST_CASE("the monotonic clock serves where it is asked for") {
    const Variable wanted("TOLL_CLOCK", "monotonic");
    const toll::Clock clock = toll::Clock::system();
    CHECK(clock.source() == toll::Clock::Source::monotonic);
    CHECK(clock.source_name() == "monotonic");
    CHECK(clock.frequency_hz() == 1e9);
    const double before = monotonic_ns();
    CHECK(static_cast<double>(clock.start()) >= before);
}

TEST_CASE("a frequency from the environment is taken to the digit") {
    const toll::Clock measured = toll::Clock::system();
    if (measured.source() == toll::Clock::Source::monotonic) { return; }
    const double given = std::floor(measured.frequency_hz() * 1.0001);
    const Variable hz("TOLL_CLOCK_HZ", std::to_string(given).c_str());
    CHECK(toll::Clock::system().frequency_hz() == doctest::Approx(given).epsilon(1e-12));
}

TEST_CASE("variables that make no sense are usage errors") {
    for (const char* text : {"fast", "0", "-5", "1e300", "nan", "2.3e9x"}) {
        CAPTURE(text);
        const Variable hz("TOLL_CLOCK_HZ", text);
        const Variable clock("TOLL_CLOCK", "counter");
        if (toll::Clock::Source::monotonic != [] {
                unsetenv("TOLL_CLOCK_HZ");
                return toll::Clock::system().source();
            }()) {
            setenv("TOLL_CLOCK_HZ", text, 1);
            CHECK_THROWS_AS((void)toll::Clock::system(), toll::UsageError);
        }
    }
    const Variable clock("TOLL_CLOCK", "sundial");
    CHECK_THROWS_AS((void)toll::Clock::system(), toll::UsageError);
}
