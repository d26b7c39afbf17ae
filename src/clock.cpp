#include "toll/clock.hpp"

#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "toll/errors.hpp"

namespace toll {
namespace {

constexpr double default_calibration_ms = 1;
constexpr double check_ms = 0.1;  // how long TOLL_CLOCK_HZ is checked against the counter

std::int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// As around the counters that clock.hpp reads.
void await_reads() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dsb ishld\n\tisb" ::: "memory");
#endif
}

/// The C library's read orders nothing that comes after it: a timed operation would begin before the read's
/// own end, which is taken off as overhead too.
Ticks read_monotonic(const Clock*) noexcept {
    await_reads();
    const auto now = static_cast<Ticks>(monotonic_ns());
    await_reads();
    return now;
}

/// Never called: the inline reads of clock.hpp serve the counters.
Ticks read_nothing(const Clock*) noexcept {
    return 0;
}

Ticks counter() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    std::uint32_t low;   // NOLINT(misc-const-correctness): assembly writes both
    std::uint32_t high;  // NOLINT(misc-const-correctness)
    asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (Ticks{high} << 32) | low;
#elif defined(__aarch64__)
    Ticks ticks = 0;
    asm volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
#else
    return 0;
#endif
}

/// One instant seen by both clocks.
struct Pair {
    Ticks ticks;
    double ns;
};

/// The counter between two reads of the monotonic clock; the tightest of several tries is the one
/// that nothing interrupted.
Pair read_both() noexcept {
    Pair best{};
    std::int64_t tightest = std::numeric_limits<std::int64_t>::max();
    for (int attempt = 0; attempt < 16; ++attempt) {
        const std::int64_t before = monotonic_ns();
        const Ticks ticks = counter();
        const std::int64_t after = monotonic_ns();
        if (after - before < tightest) {
            tightest = after - before;
            best = {ticks, (static_cast<double>(before) + static_cast<double>(after)) / 2};
        }
    }
    return best;
}

double measure_frequency_hz(double milliseconds) noexcept {
    const Pair first = read_both();
    while (static_cast<double>(monotonic_ns()) < first.ns + milliseconds * 1e6) {}
    const Pair last = read_both();
    return static_cast<double>(last.ticks - first.ticks) * 1e9 / (last.ns - first.ns);
}

/// A positive number from the environment, or nothing where the variable is unset or empty.
std::optional<double> number_from_environment(const char* name, double low, double high) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') { return std::nullopt; }
    // strtod, not from_chars: libc++ has the latter for floating point only since version 20.
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != '\0' || !(value >= low && value <= high)) {
        throw UsageError(std::string(name) + "=" + text + " is not a number in its range; unset it");
    }
    return value;
}

/// The counter's frequency, or 1e9 / ns_per_tick of a calibration that somebody made before.
double counter_frequency_hz() {
    const auto given = number_from_environment("TOLL_CLOCK_HZ", 1e6, 1e11);
    if (!given) {
        const auto ms = number_from_environment("TOLL_CLOCK_CALIBRATION_MS", 0.1, 10'000);
        return measure_frequency_hz(ms.value_or(default_calibration_ms));
    }
    // A preemption between the two reads of a pair can spoil one short check, not three.
    double seen = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
        seen = measure_frequency_hz(check_ms);
        if (std::abs(seen / *given - 1) < 0.02) { return *given; }
    }
    throw UsageError("TOLL_CLOCK_HZ=" + std::to_string(*given) + " contradicts this machine's counter (" +
                     std::to_string(seen) + " Hz); unset it");
}

#if defined(__x86_64__) || defined(__i386__)
/// Why the time-stamp counter cannot be believed here; empty where it can.
std::string why_no_counter() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    constexpr unsigned rdtscp_bit = 1U << 27;
    constexpr unsigned invariant_bit = 1U << 8;
    if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) == 0 || (edx & rdtscp_bit) == 0) {
        return "the processor has no RDTSCP";
    }
    if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 || (edx & invariant_bit) == 0) {
        return "the time-stamp counter is not invariant";
    }
    // The kernel drops the counter as its clock source where it found cores to disagree.
    const int file =
        open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (file < 0) { return "the kernel does not say whether it trusts the time-stamp counter"; }
    std::array<char, 32> name{};
    const ssize_t length = read(file, name.data(), name.size());
    close(file);
    std::string_view source(name.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    while (!source.empty() && source.back() == '\n') { source.remove_suffix(1); }
    return source == "tsc" ? "" : "the kernel keeps time with " + std::string(source) + ", not tsc";
}
constexpr Clock::Source counter_source = Clock::Source::tsc;
#elif defined(__aarch64__)
std::string why_no_counter() {
    return "";
}
constexpr Clock::Source counter_source = Clock::Source::cntvct;
#else
std::string why_no_counter() {
    return "no known counter on this processor";
}
constexpr Clock::Source counter_source = Clock::Source::monotonic;
#endif

std::string why_not_the_counter() {
    const char* wanted = std::getenv("TOLL_CLOCK");
    if (wanted == nullptr || *wanted == '\0' || std::string_view(wanted) == "counter") {
        return why_no_counter();
    }
    if (std::string_view(wanted) == "monotonic") { return "TOLL_CLOCK=monotonic asks for it"; }
    throw UsageError("TOLL_CLOCK=" + std::string(wanted) + " is neither counter nor monotonic");
}

/// What many intervals around nothing are on average, without those that an interruption made long. On a fine
/// clock all others are within a quarter of their median. A coarse one shows two lengths, a step apart: where
/// a sixteenth or more have another one, they count as well, by which the mean is finer than a step. (The
/// middle half by rank, of a clock of 10 ns that shows 20 and now and then 30, would be 2.5 ns off.)
double typical_interval(std::span<Ticks> intervals) noexcept {
    std::ranges::sort(intervals);
    const Ticks middle = intervals[intervals.size() / 2];
    const auto above_none = std::ranges::upper_bound(intervals, Ticks{0});
    const Ticks longest = 2 * middle + (above_none == intervals.end() ? 0 : *above_none);
    Ticks near_sum = 0;
    Ticks near = 0;
    Ticks sum = 0;
    Ticks count = 0;
    for (const Ticks interval : intervals) {
        if (interval > longest) { break; }
        sum += interval;
        ++count;
        if (interval + middle / 4 < middle || interval > middle + middle / 4) { continue; }
        near_sum += interval;
        ++near;
    }
    const bool two_lengths = (count - near) * 16 >= intervals.size();
    return two_lengths ? static_cast<double>(sum) / static_cast<double>(count)
                       : static_cast<double>(near_sum) / static_cast<double>(near);
}

}  // namespace

Clock Clock::system() {
    std::string reason = why_not_the_counter();
    Clock clock = reason.empty() ? Clock(counter_source, read_nothing, 1e9 / counter_frequency_hz())
                                 : Clock(Source::monotonic, read_monotonic, 1);
    clock.reason_ = std::move(reason);
    clock.measure_overhead();
    clock.measure_resolution();
    return clock;
}

std::string_view Clock::source_name() const noexcept {
    switch (source_) {
        case Source::tsc: return "tsc";
        case Source::cntvct: return "cntvct_el0";
        case Source::monotonic: return "monotonic";
        case Source::fake: return "fake";
    }
    return "unknown";
}

double Clock::overhead_now_ns() const noexcept {
    const Ticks began = start();
    std::array<Ticks, 256> intervals{};
    const auto fill = [this](std::span<Ticks> some) {
        for (Ticks& interval : some) {
            const Ticks from = start();
            const Ticks to = stop();
            interval = to - from;
        }
    };
    fill(std::span(intervals).first(32));  // warms the cache and the branch
    fill(intervals);
    const double ns = typical_interval(intervals) * ns_per_tick_;
    const Ticks now = stop();
    lately_.ns.store(ns, std::memory_order_relaxed);
    // Where somebody had the processor meanwhile, it took longer than it takes.
    const Ticks took = std::min(now - began, static_cast<Ticks>(1e5 / ns_per_tick_));
    lately_.until.store(now + 50 * took, std::memory_order_relaxed);
    return ns;
}

double Clock::overhead_lately_ns() const noexcept {
    const bool holds = stop() < lately_.until.load(std::memory_order_relaxed);
    return holds ? lately_.ns.load(std::memory_order_relaxed) : overhead_now_ns();
}

/// The greatest common divisor of many steps: some counters advance by 20 or more ticks at once.
void Clock::measure_resolution() {
    Ticks step = 0;
    const Ticks origin = start();
    for (int i = 0; i < 64; ++i) { step = std::gcd(step, stop() - origin); }
    resolution_ns_ = static_cast<double>(std::max<Ticks>(step, 1)) * ns_per_tick_;
}

FakeClock::FakeClock(double ns_per_tick, Ticks ticks_per_read)
    : Clock(Source::fake, &FakeClock::read, ns_per_tick), ticks_per_read_(ticks_per_read) {
    measure_overhead();
    measure_resolution();
}

Ticks FakeClock::read(const Clock* self) noexcept {
    const auto* fake = static_cast<const FakeClock*>(self);
    fake->now_ += fake->ticks_per_read_;
    return fake->now_;
}

}  // namespace toll
