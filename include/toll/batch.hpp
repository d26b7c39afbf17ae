// A timed group of iterations with everything that the process used meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "toll/clock.hpp"
#include "toll/counters.hpp"
#include "toll/keep.hpp"
#include "toll/resources.hpp"
#include "toll/workload.hpp"

namespace toll {

/// One timed group, or one `samples` request as a whole.
struct Batch {
    std::uint64_t iterations = 0;
    std::uint64_t units = 0;  // what the workload's `per` counts
    double wall_ns = 0;       // the clock's own overhead removed
    Resources used;           // of the timed part alone, in the meter's scope
    double gauge_ns = 0;      // of a fixed piece of arithmetic before and after (src/gauge.hpp); 0: none
    std::int64_t peak_bytes = 0;
    Checksum checksum = 0;
    std::vector<std::pair<std::string, double>> counters;
    Details details;
    std::vector<Cell> cells;
};

namespace detail {

/// Everything around the timed part; the constructor and finish() are compiled once, in src/.
class BatchMeter {
public:
    BatchMeter(const Counters& counters, Scope scope);
    void start() { before_ = Resources::at_start(scope_); }
    void stop() noexcept { after_ = Resources::at_stop(scope_); }
    [[nodiscard]] Batch finish(const Clock& clock, Ticks from, Ticks to) const;

private:
    const Counters& counters_;
    Scope scope_;
    std::vector<CounterReading> early_;
    Resources before_;
    Resources after_;
};

}  // namespace detail

/// Times run() once. Nothing is allocated or printed between the two clock reads; the caller fills
/// in iterations and units.
template <class Run>
[[nodiscard]] Batch time_batch(const Clock& clock, const Counters& counters, Run&& run,
                               Scope scope = Scope::process) {
    detail::BatchMeter meter(counters, scope);
    meter.start();
    const Ticks from = clock.start();
    const Checksum checksum = run();
    keep(checksum);
    const Ticks to = clock.stop();
    meter.stop();
    Batch batch = meter.finish(clock, from, to);
    batch.checksum = checksum;
    return batch;
}

/// Calls answer() `iterations` times and returns the sum of what it returned. Each answer is kept,
/// so that the loop can be neither folded nor turned into a multiplication. An answer that depends on nothing
/// but constants can still be computed once, before the loop: keep_changed() its input inside it.
template <class Answer>
[[gnu::always_inline]] inline Checksum repeat(std::uint64_t iterations, Answer&& answer) {
    Checksum sum = 0;
    for (std::uint64_t i = 0; i < iterations; ++i) {
        sum += static_cast<Checksum>(answer());
        keep_changed(sum);
    }
    return sum;
}

}  // namespace toll
