#pragma once

// reference/operations: what everyday operations cost, with a slow-down of known size where one is asked for.
// `toll trust` measures them against themselves, and with the slow-down, to see what a comparison finds here.

#include "operations.hpp"

#include <toll/clock.hpp>
#include <toll/contender.hpp>
#include <toll/keep.hpp>
#include <toll/relax.hpp>

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <vector>

namespace toll::reference {

/// What a contender models: made with its state, then called; 1 where the call's answer was right.
template <class O>
concept Operation = std::default_initializable<O> && requires(O operation) {
    { operation() } -> std::same_as<std::uint64_t>;
};

/// `C` is a stand-in in tests: by the machine's own clock, how long a batch took is never known to a per
/// mille.
template <Operation O, class C = Clock>
class Workload {
public:
    static constexpr WorkloadInfo info{"reference/operations", Kind::batch, "ns", "call"};

    static std::vector<Parameter> parameters() {
        return {{"slowdown", "0", "per mille",
                 "time added to every batch, of the time that its calls took; `toll trust` uses it"},
                {"drift", "0", "per mille",
                 "added besides, from nothing to this much and back in 20 s, in all programs alike"}};
    }

    explicit Workload(const Arguments& arguments)
        : slowdown_(static_cast<double>(arguments.number("slowdown", 0, 1'000)) / 1e3),
          drift_(static_cast<double>(arguments.number("drift", 0, 1'000)) / 1e3),
          clock_(calibrated_once()) {}

    [[nodiscard]] static std::uint64_t units_per_iteration() noexcept { return 1; }

    Checksum run(std::uint64_t iterations) {
        const Ticks begin = clock_.start();
        Checksum right{0};
        for (std::uint64_t i = 0; i < iterations; ++i) {
            const std::uint64_t answer = operation_();
            keep(answer);
            right += answer;
        }
        if (slowdown_ > 0 || drift_ > 0) { wait_since(begin); }
        return right;
    }

    [[nodiscard]] static Checksum expected(std::uint64_t iterations) noexcept { return iterations; }
    [[nodiscard]] static Footing footing() { return {{"threads", 1}}; }

private:
    /// State is made anew for every batch of a comparison; calibrating each time would cost more than the
    /// batch.
    static const C& calibrated_once() {
        static const C clock = C::system();
        return clock;
    }

    /// In proportion to what this very batch took: exact for any operation, whatever the machine does
    /// meanwhile.
    void wait_since(Ticks begin) const {
        const double factor = (1 + slowdown_) * (1 + drift_now());
        const double wanted_ns = clock_.raw_ns(begin, clock_.stop()) * factor;
        while (clock_.raw_ns(begin, clock_.stop()) < wanted_ns) { cpu_relax(); }
    }

    /// By the system's clock, which all processes share: what drifts is the machine, not a side.
    [[nodiscard]] double drift_now() const {
        if (drift_ == 0) { return 0; }
        const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
        return drift_ * (1 - std::cos(2 * std::numbers::pi * now.count() / drift_period_s)) / 2;
    }

    static constexpr double drift_period_s = 20;
    double slowdown_;
    double drift_;
    const C& clock_;
    O operation_;
};

}  // namespace toll::reference
