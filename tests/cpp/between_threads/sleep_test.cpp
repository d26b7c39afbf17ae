#include "sleep/workload.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct Sound {
    void sleep(toll::sleep::nanoseconds length) { std::this_thread::sleep_for(length); }
};

/// Wakes too early now and then. On a clock of its own: a busy machine makes up for what a real sleep lacks.
struct Hasty {
    static inline toll::FakeClock clock{1};
    static inline std::int64_t slept_per_10000 = 0;
    int sleeps = 0;
    void sleep(toll::sleep::nanoseconds length) {
        const std::int64_t all = length.count();
        clock.advance(static_cast<toll::Ticks>(++sleeps % 4 == 0 ? all * slept_per_10000 / 10000 : all));
    }
};

/// On a clock whose ticks take 40 ns, as many 64-bit Arm machines have.
struct Coarse {
    static inline toll::FakeClock clock{40};
    static inline toll::Ticks ticks = 0;
    void sleep(toll::sleep::nanoseconds) { clock.advance(ticks); }
};

/// What TOLL_CLOCK_HZ is in one scope; nullptr for unset.
class ClockHz {
public:
    explicit ClockHz(const char* value) {
        if (const char* const former = std::getenv(name)) { former_ = former; }
        set(value);
    }
    ~ClockHz() { set(former_ ? former_->c_str() : nullptr); }
    ClockHz(const ClockHz&) = delete;
    ClockHz& operator=(const ClockHz&) = delete;

private:
    static constexpr const char* name = "TOLL_CLOCK_HZ";
    static void set(const char* value) {
        if (value == nullptr) {
            unsetenv(name);
        } else {
            setenv(name, value, 1);
        }
    }
    std::optional<std::string> former_;
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
    const auto right_of_four = [](const char* clock_hz, std::int64_t slept_per_10000) {
        const ClockHz known(clock_hz);
        Hasty::slept_per_10000 = slept_per_10000;
        auto workload = made<Hasty>("length_ns=10000000");
        std::array<float, 4> samples{};
        return workload.sample(samples, Hasty::clock);
    };
    CHECK(right_of_four("1e9", 9'989) == 3);
    CHECK(right_of_four("1e9", 9'991) == 4);
    // By a clock that was calibrated for a millisecond.
    for (const char* none : {static_cast<const char*>(nullptr), ""}) {
        CHECK(right_of_four(none, 9'700) == 3);
        CHECK(right_of_four(none, 9'810) == 4);
    }
}

TEST_CASE("a tick of the clock is no sleep that ends too early") {
    const ClockHz known("25e6");
    const auto right = [](toll::Ticks ticks) {
        Coarse::ticks = ticks;
        auto workload = made<Coarse>("length_ns=8000");
        std::array<float, 1> samples{};
        return workload.sample(samples, Coarse::clock);
    };
    CHECK(right(200) == 1);
    CHECK(right(199) == 1);
    CHECK(right(198) == 0);
}

TEST_CASE("the timer slack in force is told") {
    const auto footing = made<Sound>("length_ns=0").footing();
    REQUIRE(footing.all().contains("timer_slack_ns"));
    CHECK(std::get<std::int64_t>(footing.all().at("timer_slack_ns")) >= 0);
}
