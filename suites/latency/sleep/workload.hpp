#pragma once

// latency/sleep: how long a sleep of a given length really lasts.

#include <toll/contender.hpp>
#include <toll/relax.hpp>

#include <sys/prctl.h>
#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace toll::sleep {

using std::chrono::nanoseconds;

/// What a contender models: `sleep(length)` returns once that long has passed, never before.
template <class S>
concept Sleeper =
    std::default_initializable<S> && requires(S sleeper, nanoseconds length) { sleeper.sleep(length); };

/// One sample is a sleep from call to return. The thread is not tied to a CPU: programs that sleep seldom
/// are.
template <Sleeper S>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/sleep", Kind::samples, "ns", "sleep"};

    static std::vector<Parameter> parameters() {
        return {{"length_ns", "64000", "ns", "how long the thread asks to sleep"}};
    }

    explicit Workload(const Arguments& arguments)
        : length_(static_cast<std::int64_t>(arguments.number("length_ns", 0, longest_ns))),
          shortest_ns_(shortest_part() * static_cast<double>(length_.count())) {}

    Checksum sample(std::span<float> samples, const Clock& clock) {
        // A sleep that ends on the very tick may show one less, and the overhead is taken off as well.
        const double unseen_ns = clock.overhead_ns() + clock.resolution_ns();
        Checksum answers = 0;
        for (float& entry : samples) {
            const Ticks from = clock.start();
            sleeper_.sleep(length_);
            const double slept_ns = clock.elapsed_ns(from, clock.stop());
            entry = static_cast<float>(slept_ns);
            answers += slept_ns + unseen_ns >= shortest_ns_ ? 1 : 0;
        }
        answered_ = samples;
        return answers;
    }

    /// Reads the samples of the last request, which live until the next one.
    [[nodiscard]] Details details() const {
        return {{"excess_ns", median(answered_) - static_cast<double>(length_.count())}};
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        Footing footing{{"threads", 1}, {"pinning", "none"}};
        // 50,000 unless a parent, a session manager or a container set another; the kernel may wake a thread
        // that much later to wake several at once (prctl(2)). What does not sleep does not feel it.
        footing.set({"timer_slack_ns", ::prctl(PR_GET_TIMERSLACK)});
        return footing;
    }

private:
    static constexpr std::uint64_t longest_ns = 1'000'000'000;
    /// What of the length must have passed by our clock, which is not the sleeper's: ours counts ticks of a
    /// frequency that was measured against it. Where TOLL_CLOCK_HZ tells that frequency, toll had one program
    /// measure it for 100 ms, which knows it to some 10 ppm; NTP lets the kernel's own clock run faster or
    /// slower by 500 ppm (adjtimex(2)), at that time and now. In the millisecond that a program takes else,
    /// an interruption of some microseconds shows.
    static double shortest_part() {
        const char* const known_hz = std::getenv("TOLL_CLOCK_HZ");  // "" is none, as for the clock
        return known_hz != nullptr && *known_hz != '\0' ? 0.999 : 0.98;
    }

    static double median(std::span<const float> values) {
        std::vector<float> sorted(values.begin(), values.end());
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
        std::ranges::nth_element(sorted, middle);
        return sorted.empty() ? 0 : *middle;
    }

    S sleeper_;
    nanoseconds length_;
    double shortest_ns_;
    std::span<const float> answered_;
};

}  // namespace toll::sleep
