#include "workload.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>

namespace {

/// Knows whether somebody waited when it was raised. Its raise goes on for a while after the other thread
/// may go, as a system call does.
struct Watched {
    static constexpr bool never_sleeps = true;
    std::atomic<bool> waiting{false};
    std::atomic<bool> raised{false};
    void raise() {
        ++raises;
        if (!waiting.load()) { ++early; }
        raised.store(true);
        for (int i = 0; i < 2000; ++i) { toll::cpu_relax(); }
    }
    void wait() {
        waiting.store(true);
        while (!raised.load()) { toll::cpu_relax(); }
    }
    void disarm() {
        waiting.store(false);
        raised.store(false);
    }
    static inline std::atomic<int> raises{0};
    static inline std::atomic<int> early{0};
};

using Workload = toll::wakeup::Workload<Watched>;

}  // namespace

TEST_CASE("nobody is signalled before it waits") {
    if (toll::usable_cpus().size() < 2) {
        MESSAGE("not checked: needs two CPUs");
        return;
    }
    const toll::Clock clock = toll::Clock::system();
    const auto parameters = Workload::parameters();
    for (const std::string_view mode : {"mode=hot", "mode=parked"}) {
        CAPTURE(mode);
        Watched::raises = Watched::early = 0;
        const std::array words{mode};
        Workload workload(toll::Arguments(parameters, words));
        std::array<float, 400> nanoseconds{};
        CHECK(workload.sample(nanoseconds, clock) == workload.expected(nanoseconds.size()));
        // The first signal of a hot sample is the way there, untimed; an interruption may hit the step
        // between a thread's announcement and its wait.
        CHECK(Watched::early * 10 <= Watched::raises);
    }
}
