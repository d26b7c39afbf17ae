// What a timed sample costs beyond its two clock reads, and whether the overhead that is removed
// from each sample is right.
//
// The independent measurement of the overhead never looks at an interval around nothing: chains of
// dependent additions of several lengths are timed one by one, and the straight line through their
// raw times is extended to length 0. Its slope is the additions, its height is the clock. The clock
// is made anew before each line, because the overhead is cycles: it follows the core's frequency,
// which on a shared machine differs by 15 % from second to second.
#include <array>
#include <cstdint>
#include <numeric>

#include "figures.hpp"
#include "toll/keep.hpp"
#include "toll/sample.hpp"

namespace {

/// The mean of the middle half of many raw times of a chain, in nanoseconds.
template <int additions>
[[gnu::noinline]] double raw_ns(const toll::Clock& clock) {
    std::array<double, 401> seen{};
    for (double& ns : seen) {
        std::uint64_t x = 1;
        const toll::Ticks from = clock.start();
#if defined(__x86_64__)
        asm volatile(".rept %c1\n\taddq %0, %0\n\t.endr" : "+r"(x) : "i"(additions) : "cc");
#elif defined(__aarch64__)
        asm volatile(".rept %c1\n\tadd %0, %0, %0\n\t.endr" : "+r"(x) : "i"(additions));
#endif
        ns = clock.raw_ns(from, clock.stop());
    }
    std::ranges::sort(seen);
    double sum = 0;
    for (std::size_t i = 100; i <= 300; ++i) { sum += seen[i]; }
    return sum / 201;
}

/// Height at length 0 of the least-squares line through five lengths.
double extrapolated_overhead_ns(const toll::Clock& clock) {
    const std::array x{20.0, 40.0, 80.0, 160.0, 320.0};
    const std::array y{raw_ns<20>(clock), raw_ns<40>(clock), raw_ns<80>(clock), raw_ns<160>(clock),
                       raw_ns<320>(clock)};
    const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / x.size();
    const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / y.size();
    double covariance = 0;
    double variance = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        covariance += (x[i] - mean_x) * (y[i] - mean_y);
        variance += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return mean_y - covariance / variance * mean_x;
}

constexpr std::size_t samples = 2000;

}  // namespace

int main() {
    const toll::Clock clock = toll::Clock::system();
    std::vector<float> ns(samples);
    const auto reads = [&] {
        for (std::size_t i = 0; i < samples; ++i) {
            toll::keep(clock.start());
            toll::keep(clock.stop());
        }
    };
    const auto timed = [&] {
        toll::SampleRecorder recorder(ns, clock);
        for (std::size_t i = 0; i < samples; ++i) {
            const toll::Ticks from = clock.start();
            recorder.record(from, clock.stop());
        }
    };
    const auto best = toll::bench::fastest(clock, 2000, {reads, timed});
    const double per_sample = (best[1] - best[0]) / samples;
    std::vector<double> reported;
    std::vector<double> independent;
    std::vector<double> distance;
    for (int repetition = 0; repetition < 201; ++repetition) {
        const toll::Clock fresh = toll::Clock::system();
        reported.push_back(fresh.overhead_ns());
        independent.push_back(extrapolated_overhead_ns(fresh));
        distance.push_back(std::abs(reported.back() - independent.back()));
    }
    using toll::bench::median;
    return toll::bench::print(
        "sample_cost",
        {toll::bench::shown("two clock reads", best[0] / samples, "ns"),
         toll::bench::shown("a timed sample", best[1] / samples, "ns"),
         toll::bench::at_most("a timed sample beyond two clock reads", per_sample, "ns", 2),
         toll::bench::shown("overhead as reported and removed", median(reported), "ns"),
         toll::bench::shown("overhead by extrapolation to an empty operation", median(independent), "ns"),
         toll::bench::at_most("distance between the two", median(distance), "ns", 2)});
}
