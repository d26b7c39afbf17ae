// Whether this program has its core to itself.
#pragma once

#include <algorithm>

#include "toll/batch.hpp"
#include "toll/clock.hpp"

namespace toll {

/// What a fixed piece of arithmetic takes right now, ns: about 2 µs of independent additions that fill every
/// execution unit, the shortest of three in a row. Where another program works on the core's other
/// hardware thread, it takes up to twice as long, and longer at a lower frequency too; an interrupt costs
/// one of the three.
[[nodiscard]] double gauge_ns(const Clock& clock) noexcept;

/// Makes a batch with the longer of two gauges, one right before it and one right after it.
template <class Timed>
[[nodiscard]] Batch gauged(const Clock& clock, Timed&& timed) {
    const double before_ns = gauge_ns(clock);
    Batch batch = timed();
    batch.gauge_ns = std::max(before_ns, gauge_ns(clock));
    return batch;
}

}  // namespace toll
