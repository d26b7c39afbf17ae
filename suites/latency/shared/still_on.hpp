// A CPU that is taken offline, or out of the container's set, loses the threads that are tied to it: the
// kernel moves them, without a word, to another one, and their times are that one's.
#pragma once

#include <toll/errors.hpp>

#include <sched.h>
#include <string>

namespace toll::latency {

/// `seen` is what sched_getcpu() told the thread that was tied to CPU `tied_to`, below 0 where it tells
/// nothing. Throws Unsupported where the thread is elsewhere.
inline void check_still_on(int tied_to, int seen = ::sched_getcpu()) {
    if (seen < 0 || seen == tied_to) { return; }
    throw Unsupported("CPU " + std::to_string(tied_to) +
                      " was taken away while it was measured: the thread tied to it ran on CPU " +
                      std::to_string(seen));
}

}  // namespace toll::latency
