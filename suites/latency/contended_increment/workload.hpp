#pragma once

// latency/contended_increment: one increment of a shared integer, timed by itself, while other threads
// increment it too. The question of the figures under contention of the "concurrency latency" document of
// 2022 (see published.toml).

#include "../shared/counter_concept.hpp"
#include "../shared/tied_crew.hpp"

#include <toll/contender.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace toll::contended_increment {

/// A member's times, in pages of its own: a vector's memory would be counted as the contender's.
class Times {
public:
    Times() = default;
    Times(const Times&) = delete;
    Times& operator=(const Times&) = delete;
    ~Times() { give_back(); }

    /// Room for so many, touched.
    void make_room(std::size_t count) {
        if (count * sizeof(float) <= bytes_) { return; }
        give_back();
        const std::size_t bytes = count * sizeof(float);
        void* const pages =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (pages == MAP_FAILED) { throw std::system_error(errno, std::generic_category(), "mmap"); }
        first_ = static_cast<float*>(pages);
        bytes_ = bytes;
    }
    [[nodiscard]] float* begin() const noexcept { return first_; }

private:
    void give_back() noexcept {
        if (bytes_ != 0) { ::munmap(first_, bytes_); }
        bytes_ = 0;
    }
    float* first_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Threads draw from one total, the number of samples, until it is reached; each times every draw of its own,
/// from call to return. A contender is one of latency/contention.
///
/// Each thread notes its times on lines of its own: noted side by side, in the order of the numbers drawn,
/// the notes would be contended for as well, and a locked instruction waits until the note before it is
/// written.
template <contention::Counter C>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/contended_increment", Kind::samples, "ns", "increment"};

    static std::vector<Parameter> parameters() {
        return {{"threads", "cpus", "threads",
                 "threads that increment, tied to the CPUs in turn, one of each core first"}};
    }

    explicit Workload(const Arguments& arguments)
        : threads_(static_cast<unsigned>(arguments.number("threads", 1, most_threads))),
          members_(threads_),
          crew_(threads_) {}

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        C& counter = counter_.emplace().counter;
        const std::uint64_t goal = nanoseconds.size();
        for (Member& member : members_) { member.times.make_room(goal); }
        const auto take_part = [&](unsigned number) {
            members_[number].drawn = draw_all(counter, goal, clock, members_[number].times);
        };
        crew_.run(take_part);
        std::uint64_t drawn = 0;
        auto place = nanoseconds.begin();
        for (const Member& member : members_) {
            const auto room = static_cast<std::uint64_t>(nanoseconds.end() - place);
            const auto own = static_cast<std::ptrdiff_t>(std::min(member.drawn, room));
            place = std::copy_n(member.times.begin(), own, place);
            drawn += member.drawn;
        }
        goal_ = goal;
        // Both are proofs: a lost increment shows in the counter, one counted twice in what the threads drew.
        if (drawn != goal) { return drawn; }
        return counter.count() - (contention::oversteps<C> ? threads_ : 0);
    }

    /// About the last request.
    [[nodiscard]] Details details() const {
        if (threads_ < 2 || goal_ == 0) { return {}; }
        const auto least = std::ranges::min_element(members_, {}, &Member::drawn)->drawn;
        return {{"smallest_share", static_cast<double>(least) * threads_ / static_cast<double>(goal_)}};
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        return {{"threads", threads_}, {"pinning", crew_.pinning()}, {"cpus", usable_cpus().size()}};
    }

private:
    static constexpr std::uint64_t most_threads = 4096;

    /// The contender on lines of its own.
    struct alignas(128) OwnLines {
        C counter;
    };

    struct alignas(128) Member {
        Times times;
        std::uint64_t drawn = 0;
    };

    /// Each thread takes off what its own clock reads around nothing while the others are at work: before
    /// the threads began it may have been less by the whole time of an increment (Clock::measure_overhead).
    static std::uint64_t draw_all(C& counter, std::uint64_t goal, const Clock& clock, const Times& times) {
        const double overhead_ns = clock.overhead_now_ns();
        std::uint64_t drawn = 0;
        for (;;) {
            const Ticks from = clock.start();
            const std::uint64_t number = counter.draw(goal);
            const Ticks to = clock.stop();
            if (number >= goal) { return drawn; }
            if (drawn == goal) { return drawn + 1; }  // a number came twice
            times.begin()[drawn++] = static_cast<float>(std::max(clock.raw_ns(from, to) - overhead_ns, 0.0));
        }
    }

    std::optional<OwnLines> counter_;  ///< a new one for each request; first, as it is aligned by lines
    unsigned threads_;
    std::uint64_t goal_ = 0;
    std::vector<Member> members_;
    latency::TiedCrew crew_;  ///< last: its threads are gone before what they use
};

}  // namespace toll::contended_increment
