// How far the clocks of two CPUs disagree: to be known before a time that begins on one and ends on
// the other is believed.
#pragma once

#include "toll/clock.hpp"

namespace toll {

/// What the clock of CPU b shows beyond that of CPU a at one instant.
struct ClockOffset {
    double ns = 0;              // 0 is within [ns - uncertainty_ns, ns + uncertainty_ns] where they agree
    double uncertainty_ns = 0;  // half the fastest round trip between the two

    /// Whether the two may be taken for one clock.
    [[nodiscard]] bool agrees() const noexcept { return ns <= uncertainty_ns && -ns <= uncertainty_ns; }
};

/// Bounces a message between threads tied to the two CPUs and compares the clocks half-way, as NTP
/// does (Mills, RFC 5905, section 8); the fastest of `round_trips` decides. Takes about a
/// millisecond. Throws Unsupported where a thread cannot be tied, std::system_error where none can
/// be made. The calling thread keeps its own CPUs.
[[nodiscard]] ClockOffset measure_offset(const Clock& clock, int cpu_a, int cpu_b, int round_trips = 2000);

}  // namespace toll
