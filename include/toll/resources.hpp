// What the process or its timed thread has used: CPU time, switches, faults, peak memory.
#pragma once

#include <cstdint>

namespace toll {

/// Whose resources.
enum class Scope : std::uint8_t {
    process,  ///< all threads, living and ended
    thread,   ///< the one that asks: what others do beside it is a load (`load_threads` of a footing)
};

/// Totals since the process, or the thread, began.
struct Resources {
    /// CLOCK_PROCESS_CPUTIME_ID or CLOCK_THREAD_CPUTIME_ID. The kernel brings the caller's share up to date
    /// at the read; that of another thread which is running at that instant may lag by up to one scheduler
    /// tick (1 to 10 ms).
    std::int64_t cpu_ns = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;
    std::int64_t minor_faults = 0;
    std::int64_t major_faults = 0;

    /// Reads switches and faults first and the CPU clock last: use it where an interval begins.
    [[nodiscard]] static Resources at_start(Scope scope = Scope::process) noexcept;
    /// Reads the CPU clock first: use it where an interval ends.
    [[nodiscard]] static Resources at_stop(Scope scope = Scope::process) noexcept;

    friend Resources operator-(const Resources& late, const Resources& early) noexcept {
        return {late.cpu_ns - early.cpu_ns, late.voluntary_switches - early.voluntary_switches,
                late.involuntary_switches - early.involuntary_switches,
                late.minor_faults - early.minor_faults, late.major_faults - early.major_faults};
    }
    friend Resources operator+(const Resources& one, const Resources& other) noexcept {
        return {one.cpu_ns + other.cpu_ns, one.voluntary_switches + other.voluntary_switches,
                one.involuntary_switches + other.involuntary_switches, one.minor_faults + other.minor_faults,
                one.major_faults + other.major_faults};
    }
};

/// CPU time that an interval around nothing shows; batches remove it.
[[nodiscard]] std::int64_t cpu_clock_overhead_ns() noexcept;

/// The highest resident set of this process image in bytes, 0 where unknown. VmHWM, not ru_maxrss:
/// the latter survives exec, so that it shows the size of whoever launched the program.
[[nodiscard]] std::int64_t peak_resident_bytes() noexcept;

}  // namespace toll
