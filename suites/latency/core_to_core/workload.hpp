#pragma once

// latency/core_to_core: how long a hand-off from one logical CPU to another takes, for every ordered pair.
// The grid of the "concurrency latency" document of 2022 (see published.toml), which used atomic wait and
// notify; compare-exchange as in N. Viennot's core-to-core-latency (2022), whose reads and writes are those
// of two_lines, without PAUSE.

#include "../shared/still_on.hpp"
#include "pairs.hpp"

#include <toll/contender.hpp>
#include <toll/layout.hpp>
#include <toll/relax.hpp>
#include <toll/threads.hpp>

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace toll::core_to_core {

inline constexpr std::size_t page_bytes = 4096;  // of which a visit uses one, whatever the kernel's are
inline constexpr std::size_t line_bytes = 128;   // two lines: prefetchers take them in pairs

/// What a contender models: two sides take turns, side 0 has the first.
///  - `pass(side)` waits until it is `side`'s turn and gives the turn to the other side; it releases what was
///  written before where it gives, and acquires where it gets, by which the turns are proven;
///  - `sleeps` (optional): true for a contender that may sleep in the kernel while it waits;
///  - `timed_alone` (optional): true where `pass(0)` is a whole round trip, which gives the turn and waits
///  until it is back: each is then timed by itself.
template <class C>
concept Channel = std::default_initializable<C> && sizeof(C) <= page_bytes / 2 &&
                  requires(C channel, int side) { channel.pass(side); };

template <Channel C>
inline constexpr bool sleeps = requires { requires C::sleeps; };

template <Channel C>
inline constexpr bool timed_alone = requires { requires C::timed_alone; };

/// Memory that nobody has touched: the page of each visit comes into being where its first toucher runs.
class UntouchedPages {
public:
    /// `kernel_page_bytes`: 4 to 64 KiB; in a page of several visits all channels lay where the first one's
    /// is.
    explicit UntouchedPages(std::size_t count,
                            std::size_t kernel_page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
        : stride_(std::max(page_bytes, kernel_page_bytes)), bytes_(count * stride_) {
        memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory_ == MAP_FAILED) { throw std::system_error(errno, std::generic_category(), "mmap"); }
        // A huge page would lie where the first visit's CPU is, for many visits. Fails where there are none.
        (void)::madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    }
    UntouchedPages(const UntouchedPages&) = delete;
    UntouchedPages& operator=(const UntouchedPages&) = delete;
    ~UntouchedPages() { ::munmap(memory_, bytes_); }

    [[nodiscard]] std::byte* page(std::size_t number) const noexcept {
        return static_cast<std::byte*>(memory_) + number * stride_;
    }

private:
    void* memory_ = nullptr;
    std::size_t stride_;
    std::size_t bytes_;
};

/// Two threads go through a list of visits. At each they tie themselves to the two CPUs of a pair, the
/// answering one makes the channel in memory that nobody has touched, and they hand the turn to and fro. The
/// calling thread sleeps in the kernel from the first visit to the last, so that it is on no measured CPU.
///
/// One sample is the mean one-way time of `round_trips` round trips: half of a round trip, as a time from one
/// CPU to the other would rest on their clocks' agreement. Reading the clock costs nothing here: the turn is
/// on its way to the other side meanwhile. Where each trip is timed alone it is not, and the clock's overhead
/// is taken off.
template <Channel C>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/core_to_core", Kind::samples, "ns", "hand-off"};
    /// Else eight: an interruption shows with an eighth of its length. Those who sleep take long enough for
    /// the clock to see a single one.
    static constexpr unsigned round_trips = sleeps<C> || timed_alone<C> ? 1 : 8;

    static std::vector<Parameter> parameters() {
        return {{"pairs", "auto", "",
                 "all: every ordered pair of CPUs; classes: as many pairs of each topology class; auto: all "
                 "up to 64 CPUs, else classes"}};
    }

    explicit Workload(const Arguments& arguments)
        : random_(std::random_device{}()),
          cpus_(tieable_cpus()),
          pairs_(arguments.text("pairs"), cpus_.tied, random_),
          crew_(2) {
        visits_.reserve(std::min(pairs_.size(), most_visits));  // else allocations would be the contender's
    }

    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    ~Workload() = default;

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        plan(nanoseconds);
        const UntouchedPages pages(visits_.size());
        arrived_[0].visits = arrived_[1].visits = 0;
        given_up_ = false;
        Checksum answers = 0;
        const auto take_part = [&](unsigned side) {
            try {
                for (std::size_t number = 0; number < visits_.size(); ++number) {
                    const bool answered = attend(side, number, pages.page(number), clock);
                    if (side == 0 && answered) { answers += visits_[number].samples.size(); }
                }
            } catch (const OtherSideGaveUp&) {
                // Its own exception says why; this one, thrown at the same time, must not be taken for it.
            } catch (...) {
                given_up_ = true;  // lets the other side go
                throw;
            }
        };
        crew_.run(std::cref(take_part));
        return answers;
    }

    /// Which samples of the last request belong to which pair.
    [[nodiscard]] std::vector<Cell> cells() const {
        std::vector<Cell> cells;
        cells.reserve(visits_.size());
        for (const Visit& visit : visits_) {
            cells.push_back({std::to_string(visit.pair.from) + ">" + std::to_string(visit.pair.to),
                             visit.samples.size()});
        }
        return cells;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        Footing footing{{"threads", 2},
                        {"pairs", pairs_.said()},
                        {"round_trips_per_sample", round_trips},
                        {"coordinator", "asleep in the kernel while pairs are measured"},
                        {"waits", sleeps<C> ? "polls, then may sleep in the kernel" : "spins"}};
        if (!cpus_.refused.empty()) { footing.set({"left_out", cpus_.refused}); }
        return footing;
    }

private:
    /// Fewer would make tying the threads the greater part of a visit.
    static constexpr std::size_t fewest_samples = 16;
    static constexpr std::size_t most_visits = 4096;
    static constexpr unsigned warm_up_passes = sleeps<C> ? 4 : 32;
    /// Before the warm-up and behind the last sample, none of them timed.
    static constexpr unsigned watched_passes = sleeps<C> ? 4 : 32;

    struct Visit {
        Pair pair;
        std::span<float> samples;
        std::size_t offset;  ///< of the channel in its page: another place in the caches each time
    };

    struct OtherSideGaveUp : std::exception {};

    /// On a line of its own.
    struct alignas(line_bytes) Arrival {
        std::atomic<std::size_t> visits{0};
        std::atomic<std::uint64_t> asked{
            0};                ///< for the turn, in this visit's watched passes: which pass it is
        bool in_turn = false;  ///< in this visit; published by the next arrival
    };

    void plan(std::span<float> nanoseconds) {
        const std::size_t most = std::min(pairs_.size(), most_visits);
        const std::size_t count = std::clamp<std::size_t>(nanoseconds.size() / fewest_samples, 1, most);
        visits_.clear();
        for (std::size_t number = 0; number < count; ++number) {
            const std::size_t from = nanoseconds.size() * number / count;
            const std::size_t to = nanoseconds.size() * (number + 1) / count;
            const std::size_t places = (page_bytes - sizeof(C)) / line_bytes;
            visits_.push_back({pairs_.next(), nanoseconds.subspan(from, to - from),
                               line_bytes * static_cast<std::size_t>(random_.below(places + 1))});
        }
    }

    /// One side's part in one visit; whether the two had the turn one after the other.
    bool attend(unsigned side, std::size_t number, std::byte* page, const Clock& clock) {
        const Visit& visit = visits_[number];
        pin_this_thread(side == 0 ? visit.pair.from : visit.pair.to);
        C* const channel = reinterpret_cast<C*>(page + visit.offset);
        if (side == 1) { std::construct_at(channel); }
        arrived_[side].asked.store(0, std::memory_order_relaxed);
        meet(side, 2 * number + 1);
        const std::uint64_t timed = round_trips * visit.samples.size();
        bool in_turn = watched(*channel, side, 0);
        for (unsigned pass = 0; pass < warm_up_passes; ++pass) { channel->pass(static_cast<int>(side)); }
        if (side == 0) {
            lead(*channel, visit.samples, clock);
        } else {
            for (std::uint64_t pass = 0; pass < timed; ++pass) { channel->pass(1); }
        }
        in_turn = watched(*channel, side, watched_passes + warm_up_passes + timed) && in_turn;
        arrived_[side].in_turn = in_turn;
        latency::check_still_on(side == 0 ? visit.pair.from : visit.pair.to);
        meet(side, 2 * number + 2);
        if (side == 1) { std::destroy_at(channel); }
        return arrived_[0].in_turn && arrived_[1].in_turn;
    }

    /// Passes of which each is written down before it is made; whether the other side had asked for the turn
    /// before this one got it, as often as it must have. A channel that waits for nobody is found so, and so
    /// is a side that got ahead while it was timed, `done` passes before. What the other side wrote is seen
    /// here because the turn came from there.
    bool watched(C& channel, unsigned side, std::uint64_t done) {
        bool in_turn = true;
        for (std::uint64_t pass = done + 1; pass <= done + watched_passes; ++pass) {
            arrived_[side].asked.store(pass, std::memory_order_relaxed);
            channel.pass(static_cast<int>(side));
            // Side 0 has the first turn; where a pass is a round trip, it is back from the other side's.
            const std::uint64_t before = side == 0 && !timed_alone<C> ? pass - 1 : pass;
            if (before > done) {  // else that one was not written down
                in_turn = arrived_[1 - side].asked.load(std::memory_order_relaxed) >= before && in_turn;
            }
        }
        return in_turn;
    }

    static void lead(C& channel, std::span<float> samples, const Clock& clock) {
        if constexpr (timed_alone<C>) {
            const double overhead_ns = clock.overhead_now_ns();  // on this CPU, while the other side waits
            for (float& sample : samples) {
                const Ticks before = clock.start();
                channel.pass(0);
                const double ns = clock.raw_ns(before, clock.stop()) - overhead_ns;
                sample = static_cast<float>(std::max(ns, 0.0) / 2);
            }
        } else {
            Ticks before = clock.stop();
            for (float& sample : samples) {
                for (unsigned trip = 0; trip < round_trips; ++trip) { channel.pass(0); }
                const Ticks now = clock.stop();
                sample = static_cast<float>(clock.raw_ns(before, now) / (2 * round_trips));
                before = now;
            }
        }
    }

    /// Returns once both sides are at this point of the list.
    void meet(unsigned side, std::size_t point) {
        arrived_[side].visits.store(point, std::memory_order_release);
        while (arrived_[1 - side].visits.load(std::memory_order_acquire) < point) {
            if (given_up_.load(std::memory_order_relaxed)) { throw OtherSideGaveUp{}; }
            cpu_relax();
        }
    }

    std::array<Arrival, 2> arrived_;
    Random random_;
    TieableCpus cpus_;
    Pairs pairs_;
    std::vector<Visit> visits_;
    std::atomic<bool> given_up_{false};
    Crew crew_;
};

}  // namespace toll::core_to_core
