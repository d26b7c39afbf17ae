// The clock that everything is timed with: the invariant time-stamp counter on x86, cntvct_el0 on
// 64-bit Arm, the monotonic clock elsewhere.
//
// Fences. RDTSC is not ordered with what surrounds it. Intel's SDM (volume 2B, RDTSC) gives the
// recipe: LFENCE before it, so that it reads only after all earlier instructions have completed,
// and LFENCE after it, so that nothing later starts before it has read. RDTSCP waits for earlier
// instructions by itself. This is the modern form of the CPUID;RDTSC / RDTSCP;CPUID bracket of
// G. Paoloni, "How to Benchmark Code Execution Times on Intel IA-32 and IA-64 Instruction Set
// Architectures" (Intel white paper 324264, 2010): CPUID costs a trap under virtualisation, LFENCE
// does not. Stores may still wait in the store buffer when stop() reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace toll {

/// A count of clock ticks; only differences mean anything.
using Ticks = std::uint64_t;

class Clock {
public:
    enum class Source { tsc, cntvct, monotonic, fake };

    /// The best clock of this machine. Calibrates against CLOCK_MONOTONIC for about 1 ms, or takes
    /// the frequency from TOLL_CLOCK_HZ, so that all launches of one run share one calibration.
    /// TOLL_CLOCK_CALIBRATION_MS asks for a longer one; TOLL_CLOCK=monotonic avoids the counter.
    /// Throws UsageError where a variable makes no sense or contradicts the counter by over 2 %.
    [[nodiscard]] static Clock system();

    /// Reads after everything before it has completed; nothing after it starts earlier.
    [[nodiscard, gnu::always_inline]] Ticks start() const noexcept {
#if defined(__x86_64__) || defined(__i386__)
        if (source_ == Source::tsc) [[likely]] {
            std::uint32_t low;
            std::uint32_t high;
            asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
            return (Ticks{high} << 32) | low;
        }
#elif defined(__aarch64__)
        if (source_ == Source::cntvct) [[likely]] { return read_cntvct(); }
#endif
        return read_(this);
    }

    /// As start(); the cheaper form for the end of an interval.
    [[nodiscard, gnu::always_inline]] Ticks stop() const noexcept {
#if defined(__x86_64__) || defined(__i386__)
        if (source_ == Source::tsc) [[likely]] {
            std::uint32_t low;
            std::uint32_t high;
            asm volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high) : : "ecx", "memory");
            return (Ticks{high} << 32) | low;
        }
#elif defined(__aarch64__)
        if (source_ == Source::cntvct) [[likely]] { return read_cntvct(); }
#endif
        return read_(this);
    }

    /// Nanoseconds from `start` to `stop`, the clock's own overhead removed, never below 0. The two
    /// may come from different threads; see offset.hpp for how far that can be believed.
    [[nodiscard]] double elapsed_ns(Ticks start, Ticks stop) const noexcept {
        const double ns = raw_ns(start, stop) - overhead_ns_;
        return ns > 0 ? ns : 0;
    }

    /// Nanoseconds from `start` to `stop` as the clock saw them; negative where stop came first.
    [[nodiscard]] double raw_ns(Ticks start, Ticks stop) const noexcept {
        return static_cast<double>(static_cast<std::int64_t>(stop - start)) * ns_per_tick_;
    }

    [[nodiscard]] Source source() const noexcept { return source_; }
    [[nodiscard]] std::string_view source_name() const noexcept;
    /// The smallest step that the clock was seen to make.
    [[nodiscard]] double resolution_ns() const noexcept { return resolution_ns_; }
    /// What an interval around nothing reads; removed from every interval.
    [[nodiscard]] double overhead_ns() const noexcept { return overhead_ns_; }
    /// Measures that once more, by some 300 intervals: it is 26 ns on a core of its own and 42 ns where
    /// somebody works on its other hardware thread, which comes and goes within milliseconds.
    void measure_overhead() noexcept { overhead_ns_ = overhead_now_ns(); }
    /// What it was at the last measurement, or is now where 50 times as long has passed as that takes. Any
    /// thread may ask.
    [[nodiscard]] double overhead_lately_ns() const noexcept;
    /// What it is now, where the calling thread runs; takes some 10 us. Any thread may ask.
    [[nodiscard]] double overhead_now_ns() const noexcept;
    [[nodiscard]] double frequency_hz() const noexcept { return 1e9 / ns_per_tick_; }
    [[nodiscard]] double ns_per_tick() const noexcept { return ns_per_tick_; }
    /// Why the processor's counter is not used; empty where it is.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

protected:
    using Read = Ticks (*)(const Clock*) noexcept;
    Clock(Source source, Read read, double ns_per_tick) noexcept
        : source_(source), read_(read), ns_per_tick_(ns_per_tick) {}

    void measure_resolution();

private:
    /// The last measurement. Copied as it is at that moment.
    struct Lately {
        Lately() = default;
        Lately(const Lately& other) noexcept : ns(other.ns.load()), until(other.until.load()) {}
        Lately& operator=(const Lately& other) noexcept {
            if (this != &other) {
                ns = other.ns.load();
                until = other.until.load();
            }
            return *this;
        }
        ~Lately() = default;
        std::atomic<double> ns = 0;
        std::atomic<Ticks> until = 0;  // that holds
    };

#if defined(__aarch64__)
    /// An ISB alone completes no load that is on its way: DSB ISHLD does (Arm Architecture Reference Manual,
    /// D7, on reading the counter), as LFENCE does elsewhere.
    [[gnu::always_inline]] static Ticks read_cntvct() noexcept {
        Ticks ticks;
        asm volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
        return ticks;
    }
#endif
    Source source_;
    Read read_;
    double ns_per_tick_;
    double overhead_ns_ = 0;
    mutable Lately lately_;
    double resolution_ns_ = 0;
    std::string reason_;
};

/// A clock that stands still until it is told otherwise: makes times in tests exact.
class FakeClock : public Clock {
public:
    /// One tick lasts `ns_per_tick`; every read lets `ticks_per_read` pass, which is the overhead.
    explicit FakeClock(double ns_per_tick = 1, Ticks ticks_per_read = 0);
    void advance(Ticks ticks) noexcept { now_ += ticks; }
    /// From now on, as where somebody begins to work on the core's other hardware thread.
    void read_in(Ticks ticks_per_read) noexcept { ticks_per_read_ = ticks_per_read; }

private:
    static Ticks read(const Clock* self) noexcept;
    mutable Ticks now_ = 1000;
    Ticks ticks_per_read_;
};

}  // namespace toll
