#include "toll/batch.hpp"

#include <algorithm>
#include <cstddef>

namespace toll::detail {

BatchMeter::BatchMeter(const Counters& counters, Scope scope)
    : counters_(counters), scope_(scope), early_(counters.read()) {
    (void)cpu_clock_overhead_ns();  // measured once, never inside a timed part
}

Batch BatchMeter::finish(const Clock& clock, Ticks from, Ticks to) const {
    const std::vector<CounterReading> late = counters_.read();
    Batch batch;
    batch.wall_ns = clock.elapsed_ns(from, to);
    batch.used = after_ - before_;
    batch.used.cpu_ns = std::max<std::int64_t>(batch.used.cpu_ns - cpu_clock_overhead_ns(), 0);
    batch.peak_bytes = peak_resident_bytes();
    const std::vector<std::string> names = counters_.names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const double count = scaled_count(early_[i], late[i]);
        if (count >= 0) { batch.counters.emplace_back(names[i], count); }
    }
    return batch;
}

}  // namespace toll::detail
