#include "toll/offset.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "toll/errors.hpp"
#include "toll/threads.hpp"

TEST_CASE("a clock agrees with itself, and an uncertainty says how far that was checked") {
    const toll::Clock clock = toll::Clock::system();
    const int cpu = toll::usable_cpus().front();
    const toll::ClockOffset offset = toll::measure_offset(clock, cpu, cpu, 20);
    CHECK(offset.agrees());
    CHECK(offset.uncertainty_ns > 0);
}

TEST_CASE("the offset one way is the offset the other way, turned around") {
    const auto& cpus = toll::usable_cpus();
    const toll::Clock clock = toll::Clock::system();
    const auto there = toll::measure_offset(clock, cpus.front(), cpus.back());
    const auto back = toll::measure_offset(clock, cpus.back(), cpus.front());
    CHECK(std::abs(there.ns + back.ns) <= there.uncertainty_ns + back.uncertainty_ns);
}

TEST_CASE("agreement is an interval around no offset") {
    CHECK(toll::ClockOffset{.ns = 40, .uncertainty_ns = 40}.agrees());
    CHECK(toll::ClockOffset{.ns = -40, .uncertainty_ns = 40}.agrees());
    CHECK_FALSE(toll::ClockOffset{.ns = 41, .uncertainty_ns = 40}.agrees());
    CHECK_FALSE(toll::ClockOffset{.ns = -41, .uncertainty_ns = 40}.agrees());
}

TEST_CASE("a CPU that is not there is unsupported") {
    CHECK_THROWS_AS((void)toll::measure_offset(toll::Clock::system(), 0, 1 << 20), toll::Unsupported);
}
