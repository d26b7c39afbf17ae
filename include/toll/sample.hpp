// Operations timed one by one, the clock's overhead removed from each: what it was a moment ago.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "toll/clock.hpp"
#include "toll/keep.hpp"
#include "toll/workload.hpp"

namespace toll {

/// Fills a span with the times of single operations. record() only subtracts and stores: the ticks
/// stay in the float's 32 bits until finish() converts them, because a conversion would have to end
/// before the next LFENCE lets the clock read and would cost some 6 ns a sample.
class SampleRecorder {
public:
    /// Both must outlive the recorder.
    SampleRecorder(std::span<float> nanoseconds, const Clock& clock) noexcept
        : out_(nanoseconds), clock_(clock) {}

    /// One operation; ignored once the span is full. A stop before its start counts as no time.
    [[gnu::always_inline]] void record(Ticks start, Ticks stop) noexcept {
        if (next_ == out_.size()) [[unlikely]] { return; }
        const Ticks ticks = stop - start;
        out_[next_++] =
            std::bit_cast<float>(ticks < long_mark ? static_cast<std::uint32_t>(ticks) : encode_long(ticks));
    }

    [[nodiscard]] std::size_t recorded() const noexcept { return next_; }

    /// Turns what was recorded into nanoseconds. Call it once, after the last record(). Now and then it
    /// measures the clock's overhead first, which takes a fiftieth of the time.
    void finish() noexcept {
        const double overhead_ns = clock_.overhead_lately_ns();
        for (float& slot : out_.first(next_)) {
            const double raw_ns = clock_.raw_ns(0, decode(std::bit_cast<std::uint32_t>(slot)));
            slot = static_cast<float>(raw_ns > overhead_ns ? raw_ns - overhead_ns : 0);
        }
    }

private:
    // Up to 2^31 ticks are stored as they are; longer times lose their low 8 bits, which is less
    // than what a 32-bit float drops anyway. 2^39 ticks are two minutes or more.
    static constexpr std::uint32_t long_mark = std::uint32_t{1} << 31;

    [[gnu::noinline, gnu::cold]] static std::uint32_t encode_long(Ticks ticks) noexcept {
        if (static_cast<std::int64_t>(ticks) < 0) { return 0; }
        const Ticks coarse = ticks >> 8;
        return long_mark | static_cast<std::uint32_t>(coarse < long_mark ? coarse : long_mark - 1);
    }
    static Ticks decode(std::uint32_t bits) noexcept {
        return (bits & long_mark) != 0 ? Ticks{bits & ~long_mark} << 8 : Ticks{bits};
    }

    std::span<float> out_;
    const Clock& clock_;
    std::size_t next_ = 0;
};

/// Times answer() once for every entry and returns the sum of what it returned. An answer that depends on
/// nothing but constants can be computed before the clock starts: keep_changed() its input inside it.
template <class Answer>
Checksum time_each(std::span<float> nanoseconds, const Clock& clock, Answer&& answer) {
    SampleRecorder recorder(nanoseconds, clock);
    Checksum sum = 0;
    for (std::size_t i = 0; i < nanoseconds.size(); ++i) {
        const Ticks start = clock.start();
        const auto one = static_cast<Checksum>(answer());
        keep(one);
        const Ticks stop = clock.stop();
        sum += one;
        recorder.record(start, stop);
    }
    recorder.finish();
    return sum;
}

}  // namespace toll
