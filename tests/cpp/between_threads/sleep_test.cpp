#include "sleep/workload.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>
#include <thread>

namespace {

struct Sound {
    void sleep(toll::sleep::nanoseconds length) { std::this_thread::sleep_for(length); }
};

/// Wakes too early now and then. On a clock of its own: a busy machine makes up for what a real sleep lacks.
struct Hasty {
    static inline toll::FakeClock clock{1};
    int sleeps = 0;
    void sleep(toll::sleep::nanoseconds length) {
        const std::int64_t all = length.count();
        clock.advance(static_cast<toll::Ticks>(++sleeps % 4 == 0 ? all * 97 / 100 : all));
    }
};

template <class S>
toll::sleep::Workload<S> made(std::string_view length) {
    static const auto parameters = toll::sleep::Workload<S>::parameters();
    const std::array<std::string_view, 1> words{length};
    return toll::sleep::Workload<S>(toll::Arguments(parameters, words));
}

}  // namespace

TEST_CASE("a sample is the whole sleep, the detail what it took beyond") {
    const toll::Clock clock = toll::Clock::system();
    auto workload = made<Sound>("length_ns=200000");
    std::array<float, 9> samples{};
    CHECK(workload.sample(samples, clock) == workload.expected(samples.size()));
    for (const float sample : samples) { CHECK(sample >= 196'000); }
    auto sorted = samples;
    std::ranges::sort(sorted);
    CHECK(workload.details().at("excess_ns") == doctest::Approx(sorted[4] - 200'000.0F));
}

TEST_CASE("a sleep that ends too early is a wrong answer") {
    auto workload = made<Hasty>("length_ns=10000000");
    std::array<float, 4> samples{};
    CHECK(workload.sample(samples, Hasty::clock) == 3);
}

TEST_CASE("the timer slack in force is told") {
    const auto footing = made<Sound>("length_ns=0").footing();
    REQUIRE(footing.all().contains("timer_slack_ns"));
    CHECK(std::get<std::int64_t>(footing.all().at("timer_slack_ns")) >= 0);
}
