#include "workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

/// Keeps time of itself: what a batch takes besides is what was added to it.
struct Spin {
    std::uint64_t operator()() const {
        const double begin = seconds_now();
        double now = begin;
        while (now < begin + 20e-6) { now = seconds_now(); }
        spent_s += now - begin;
        return 1;
    }
    static inline double spent_s = 0;
};

/// Time of a batch over the time that its calls took: each batch by itself, so the machine's speed is in
/// neither. Whoever takes the processor away can only make it longer: the least of many.
double least_factor(const std::vector<std::string_view>& words) {
    auto workload = made<Spin>(words);
    double least = 1e9;
    for (int batch = 0; batch < 200; ++batch) {
        Spin::spent_s = 0;
        const double begin = seconds_now();
        CHECK(workload.run(10) == toll::Checksum{10});
        least = std::min(least, (seconds_now() - begin) / Spin::spent_s);
    }
    return least;
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
    for (const std::uint64_t calls : {1, 999, 1'000}) {
        CHECK(workload.run(calls) == workload.expected(calls));
    }
}

TEST_CASE("one wrong answer of many shows") {
    auto workload = made<WrongOnce>();
    CHECK(workload.run(1'000) != workload.expected(1'000));
}

TEST_CASE("a slow-down adds its share of what the calls took") {
    CHECK(least_factor({}) == doctest::Approx(1.0).epsilon(0.01));
    CHECK(least_factor({"slowdown=20"}) == doctest::Approx(1.02).epsilon(0.005));
    CHECK(least_factor({"slowdown=500"}) == doctest::Approx(1.5).epsilon(0.01));
}

TEST_CASE("a drift follows the system's clock") {
    const double added = (1 - std::cos(2 * std::numbers::pi * seconds_now() / 20)) / 2;
    const double factor = least_factor({"drift=1000", "slowdown=100"});
    CHECK(factor == doctest::Approx(1.1 * (1 + added)).epsilon(0.03));
}

TEST_CASE("a share outside of what can be is refused") {
    CHECK_THROWS_AS(made<Spin>({"slowdown=1001"}), toll::UsageError);
    CHECK_THROWS_AS(made<Spin>({"drift=-1"}), toll::UsageError);
}
