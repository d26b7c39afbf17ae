// nanobench's clock, answered so that every launch makes the same runs: of 1, 10, 100 ... iterations.
//
// nanobench 4 looks at the clock before and behind each run. A run that took no time is followed by
// one of ten times as many iterations; one that took long enough by the fewest there may be. So the first
// runs of a benchmark take no time by this clock, and all others, a fixed number, days.
//
// It also looks elsewhere, and so may the program. A run stands between two looks that come from two places
// in the code, in turns: a place is known by its stack of return addresses. Whoever looks from anywhere else
// is told the machine's time.
#pragma once

#include <unwind.h>

#include <cstddef>
#include <cstdint>

namespace toll_tenfold {

constexpr std::uint64_t no_site = 0;
constexpr std::uint64_t long_ns = 100'000'000'000'000;  // beside any time that a run is to take: over a day
constexpr std::uint64_t longest_between_ns = 20'000'000;
constexpr std::uint64_t kinds_of_long = 4;  // where epochs differ nanobench says how many iterations they had

struct Look {
    std::uint64_t answer_ns = 0;
    bool ends_run = false;
    bool may_begin_run = false;  // the next look will tell
};

class Looks {
public:
    /// One look at `real_ns`. The first `runs` runs take no time, but for the last, or one that is
    /// `last_one`.
    Look look(std::uint64_t site, std::uint64_t real_ns, std::uint64_t runs, bool last_one) {
        if (running_ && site == after_) { return after(runs, last_one, real_ns); }
        if (!running_ && pairs_ != 0 && site == before_) { return before(site, real_ns); }
        if (!running_ && pairs_ != 0 && site == after_) {  // waits for the clock to move
            answered_ns_ = real_ns > answered_ns_ ? real_ns : answered_ns_ + 1;
            return {answered_ns_, false, pairs_ == 1};
        }
        // Who has just ended a pair that is known begins none with it.
        const std::uint64_t last = !running_ && pairs_ > 1 ? no_site : latest_;
        ++group_;
        pairs_ = 0;
        is_long_ = is_turned_ = false;
        if (last == no_site || last == site) {
            after_ = no_site;
            before_ = site;
            return before(site, real_ns);
        }
        before_ = last;  // which may have been taken for the end of a pair
        after_ = site;
        return after(runs, last_one, real_ns);
    }

    /// What comes is another benchmark.
    void forget() { *this = {}; }

    /// Number of the pair of places, and how many runs there were between them.
    std::uint64_t group() const { return group_; }
    std::uint64_t pairs() const { return pairs_; }
    /// Whether the last look ended a run. Else ends were taken for beginnings, as of a first look that comes
    /// from a place of its own.
    bool is_whole() const { return !running_; }

private:
    Look before(std::uint64_t site, std::uint64_t real_ns) {
        running_ = true;
        latest_ = site;
        // Much time between runs: what we take for ends begins them, and would never take long enough.
        is_turned_ = is_long_ && (is_turned_ || real_ns > ended_ns_ + longest_between_ns);
        answered_ns_ = is_turned_ ? answered_ns_ + long_ns : real_ns;
        return {answered_ns_, false, !is_long_};
    }

    Look after(std::uint64_t runs, bool last_one, std::uint64_t real_ns) {
        ended_ns_ = real_ns;
        running_ = false;
        latest_ = after_;
        const bool counted = !is_long_;
        is_long_ = is_long_ || last_one || pairs_ + 1 >= runs;
        if (is_long_) { answered_ns_ += long_ns << (pairs_ % kinds_of_long); }
        ++pairs_;
        return {answered_ns_, counted, pairs_ == 1};
    }

    std::uint64_t before_ = no_site;
    std::uint64_t after_ = no_site;
    std::uint64_t latest_ = no_site;
    std::uint64_t group_ = 0;
    std::uint64_t pairs_ = 0;
    std::uint64_t answered_ns_ = 0;
    std::uint64_t ended_ns_ = 0;
    bool running_ = false;
    bool is_turned_ = false;
    bool is_long_ = false;  // all runs from now on
};

/// Where we are called from, as one number.
inline std::uint64_t site() {
    struct Frames {
        std::uint64_t mixed = 14695981039346656037U;
        int left = 24;
    } frames;
    const auto each = [](_Unwind_Context* context, void* into) {
        auto& of = *static_cast<Frames*>(into);
        of.mixed = (of.mixed ^ _Unwind_GetIP(context)) * 1099511628211U;
        return --of.left == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
    };
    _Unwind_Backtrace(each, &frames);
    return frames.mixed == no_site ? 1 : frames.mixed;
}

}  // namespace toll_tenfold
