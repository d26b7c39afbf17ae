#include "workload.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

namespace {

namespace operations = toll::operations;

template <class O>
toll::reference::Workload<O> made(const std::vector<std::string_view>& words = {}) {
    using W = toll::reference::Workload<O>;
    const auto parameters = W::parameters();
    return W(toll::Arguments(parameters, words));
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Time that passes only where it is said: a nanosecond a reading, and what the operation takes.
struct FakeClock {
    static FakeClock system() { return {}; }
    static toll::Ticks start() { return ++now_ns; }
    static toll::Ticks stop() { return ++now_ns; }
    static double raw_ns(toll::Ticks begin, toll::Ticks end) { return static_cast<double>(end - begin); }
    static inline toll::Ticks now_ns = 0;
};

struct TenMicroseconds {
    std::uint64_t operator()() const {
        FakeClock::now_ns += 10'000;
        return 1;
    }
};

/// Time of a batch of ten calls over the time that the calls took.
double factor(const std::vector<std::string_view>& words) {
    using W = toll::reference::Workload<TenMicroseconds, FakeClock>;
    const auto parameters = W::parameters();
    W workload(toll::Arguments(parameters, words));
    const toll::Ticks begin = FakeClock::now_ns;
    CHECK(workload.run(10) == toll::Checksum{10});
    return static_cast<double>(FakeClock::now_ns - begin) / 100'000;
}

struct WrongOnce {
    std::uint64_t operator()() { return ++calls == 7 ? 0 : 1; }
    int calls = 0;
};

}  // namespace

TEST_CASE_TEMPLATE("each operation answers right, alone and again", O, operations::HashMapLookUp,
                   operations::TreeLookUp, operations::AtomicAdd, operations::UncontendedLock,
                   operations::NewDelete, operations::ShortString, operations::Sort512, operations::Sum4096,
                   operations::AllocationHeavy, operations::MemoryBound) {
    auto workload = made<O>();
    for (const std::uint64_t calls : {1U, 999U, 1'000U}) {
        CHECK(workload.run(calls) == workload.expected(calls));
    }
}

TEST_CASE("one wrong answer of many shows") {
    auto workload = made<WrongOnce>();
    CHECK(workload.run(1'000) != workload.expected(1'000));
}

TEST_CASE("a slow-down adds its share of what the calls took") {
    CHECK(factor({}) == doctest::Approx(1.0).epsilon(0.0001));
    CHECK(factor({"slowdown=20"}) == doctest::Approx(1.02).epsilon(0.0001));
    CHECK(factor({"slowdown=500"}) == doctest::Approx(1.5).epsilon(0.0001));
}

TEST_CASE("a drift follows the system's clock") {
    const double before_s = seconds_now();
    const double drifted = factor({"drift=1000", "slowdown=100"});
    const double passed_s = seconds_now() - before_s;
    const double added = (1 - std::cos(2 * std::numbers::pi * before_s / 20)) / 2;
    const double steepest = std::numbers::pi / 20;
    CHECK(drifted == doctest::Approx(1.1 * (1 + added)).epsilon(0.0001 + steepest * passed_s));
}

TEST_CASE("a share outside of what can be is refused") {
    CHECK_THROWS_AS(made<TenMicroseconds>({"slowdown=1001"}), toll::UsageError);
    CHECK_THROWS_AS(made<TenMicroseconds>({"drift=-1"}), toll::UsageError);
}
