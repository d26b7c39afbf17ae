#include "thread_start/posix_thread.hpp"
#include "thread_start/waiting_pool.hpp"
#include "thread_start/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <string_view>

namespace {

using toll::thread_start::Arrival;
using toll::thread_start::Workload;

/// Runs the function where it was asked for: no thread at all.
struct Inline {
    static void start(Arrival& arrival) { arrival(); }
    static void finish() {}
};

/// Forgets every second function.
struct Forgetful {
    std::thread thread;
    bool forget = false;
    void start(Arrival& arrival) {
        thread = std::thread([&arrival, forgotten = forget] {
            if (!forgotten) { arrival(); }
        });
        forget = !forget;
    }
    void finish() { thread.join(); }
};

/// Makes the thread run only once its maker has gone on.
struct Late {
    std::promise<void> gone_on;
    std::thread thread;
    void start(Arrival& arrival) {
        gone_on = {};
        thread = std::thread([&arrival, go = gone_on.get_future()] {
            go.wait();
            arrival();
        });
    }
    void finish() {
        std::this_thread::sleep_for(std::chrono::nanoseconds(delay_ns));
        gone_on.set_value();
        thread.join();
    }
    static constexpr std::int64_t delay_ns = 2'000'000;
};

template <class S>
struct Measured {
    toll::Checksum answers;
    toll::Checksum expected;
    std::array<float, 40> ns;
};

template <class S>
Measured<S> measured(std::string_view quantity) {
    static const toll::Clock clock = toll::Clock::system();
    const auto parameters = Workload<S>::parameters();
    const std::array words{quantity};
    Workload<S> workload(toll::Arguments(parameters, words));
    Measured<S> seen{};
    seen.answers = workload.sample(seen.ns, clock);
    seen.expected = workload.expected(seen.ns.size());
    return seen;
}

}  // namespace

TEST_CASE("every start is answered by the function that it started") {
    for (const std::string_view quantity : {"quantity=cost", "quantity=latency"}) {
        CAPTURE(quantity);
        const auto threads = measured<toll::thread_start::PosixThread>(quantity);
        CHECK(threads.answers == threads.expected);
        const auto pooled =
            measured<toll::thread_start::PooledTask<toll::thread_start::WaitingPool>>(quantity);
        CHECK(pooled.answers == pooled.expected);
        CHECK(std::ranges::all_of(pooled.ns, [](float ns) { return ns > 0; }));
    }
}

TEST_CASE("a function that ran in its maker, or not at all, is no answer") {
    CHECK(measured<Inline>("quantity=latency").answers == 0);
    CHECK(measured<Forgetful>("quantity=latency").answers == 20);
}

TEST_CASE("cost ends where the maker goes on, latency where the function runs") {
    const auto cost = measured<Late>("quantity=cost");
    const auto latency = measured<Late>("quantity=latency");
    CHECK(cost.answers == cost.expected);
    const auto fastest = [](const auto& seen) { return *std::ranges::min_element(seen.ns); };
    CHECK(fastest(latency) >= Late::delay_ns);
    CHECK(fastest(cost) < Late::delay_ns);
    CHECK_THROWS_AS(measured<Late>("quantity=both"), toll::Unsupported);
}
