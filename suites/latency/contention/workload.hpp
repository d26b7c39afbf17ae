#pragma once

// latency/contention: several threads increment one shared integer.
// Question and first contenders after the "concurrency latency" document of 2022 (see published.toml).

#include "../shared/counter_concept.hpp"
#include "../shared/placement.hpp"
#include "../shared/tied_crew.hpp"

#include <toll/contender.hpp>
#include <toll/relax.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace toll::contention {

/// All threads draw from one total until it is reached. With a fixed number for each thread all shares would
/// be equal by decree, and a thread that waits long would only show as a longer end; so a thread gets as
/// much as the contender lets it have, which is what fairness means.
///
/// The longest wait is looked for in two ways, because timing all draws would keep threads away from the
/// counter for much of the time:
///  - short ones in the last sixty-fourth of a batch, where each thread times every draw;
///  - long ones everywhere, by the numbers drawn: a thread that gets a number far beyond its former one has
///    waited while the others drew those between. Who draws a mark (a multiple of 256, or of more) notes the
///    time; from there the wait is counted.
///
/// A contender that models AddsAsAsked has the form of the document's program instead: an equal number for
/// each thread, a plain loop, no shares or waits. Beside it shows what looking at each number costs.
template <class C>
    requires Counter<C> || AddsAsAsked<C>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/contention", Kind::batch, "ns", "increment"};

    static std::vector<Parameter> parameters() {
        return {{"threads", "cpus", "threads",
                 "threads that increment, tied to the CPUs in turn, one of each core first"}};
    }

    explicit Workload(const Arguments& arguments)
        : threads_(static_cast<unsigned>(arguments.number("threads", 1, most_threads))),
          clock_(Clock::system()),
          members_(threads_),
          crew_(threads_) {}

    Checksum run(std::uint64_t iterations) {
        C& counter = counter_.emplace().counter;
        goal_ = iterations;
        if constexpr (AddsAsAsked<C>) {
            crew_.run([&](unsigned number) {
                counter.add(iterations / threads_ + (number < iterations % threads_ ? 1 : 0));
            });
            return counter.count();
        } else {
            return draw_all(counter, iterations);
        }
    }

    [[nodiscard]] Details details() const {
        if (AddsAsAsked<C> || threads_ < 2 || goal_ < fewest_per_thread * threads_) { return {}; }
        const auto [least, most] = std::ranges::minmax(members_, {}, &Member::drawn);
        const auto& longest = std::ranges::max_element(members_, {}, &Member::longest);
        const auto fair = static_cast<double>(goal_) / threads_;
        Details details{{"smallest_share", static_cast<double>(least.drawn) / fair},
                        {"largest_share", static_cast<double>(most.drawn) / fair}};
        if (longest->longest > 0) { details["longest_wait_ns"] = clock_.elapsed_ns(0, longest->longest); }
        return details;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        Footing seen{{"threads", threads_},
                     {"pinning", crew_.pinning()},
                     {"cpus", usable_cpus().size()},
                     {"threads_per_cpu", threads_ > usable_cpus().size() ? "several" : "at most one"}};
        if (crew_.tied()) {
            const auto& all = latency::cpus_in_turn();
            const auto taken = std::span(all).first(std::min<std::size_t>(threads_, all.size()));
            latency::Topology topology;
            seen.set({"pinned_cpus", cpu_list(taken)});
            seen.set({"placement", latency::closenesses(taken, topology)});
        }
        return seen;
    }

private:
    static constexpr std::uint64_t most_threads = 4096;
    static constexpr std::uint64_t watched_part = 64;
    /// Below that a share says nothing.
    static constexpr std::uint64_t fewest_per_thread = 64;

    /// From mark to mark are 256 increments, more where the batch has more than so many marks.
    static constexpr unsigned finest_shift = 8;
    static constexpr std::uint64_t most_marks = 1024;

    static constexpr double longest_batch_ns = 2e9;
    static constexpr std::uint64_t draws_between_looks = 256;

    /// The contender on lines of its own.
    struct alignas(128) OwnLines {
        C counter;
    };

    struct alignas(128) Member {
        std::uint64_t drawn = 0;
        Ticks longest = 0;
    };

    Checksum draw_all(C& counter, std::uint64_t iterations) {
        given_up_ = false;
        watching_since_ = 0;
        choose_marks(iterations);
        begun_ = clock_.start();
        const std::uint64_t watched = threads_ > 1 ? iterations / watched_part : 0;
        const auto take_part = [&](unsigned number) {
            Member& member = members_[number];
            member = Member{};
            draw_until(counter, member, iterations - watched, iterations, watched > 0);
        };
        crew_.run(take_part);
        std::uint64_t drawn = 0;
        for (const Member& member : members_) { drawn += member.drawn; }
        if (given_up_.load()) { give_up(drawn); }
        const std::uint64_t beyond = oversteps<C> ? threads_ : 0;
        // Both are proofs: a lost increment shows in the counter, one counted twice in what the threads got.
        if (drawn != iterations) { return drawn; }
        return counter.count() - beyond;
    }

    /// Times of the former batch stay: they lie before this one's begin, and clearing them would cost time.
    void choose_marks(std::uint64_t goal) {
        mark_shift_ = finest_shift;
        while (goal >> mark_shift_ > most_marks) { ++mark_shift_; }
        if (threads_ < 2) { mark_shift_ = 63; }  // alone, one waits for nobody
    }

    void draw_until(C& counter, Member& member, std::uint64_t watch_from, std::uint64_t goal, bool watch) {
        const Ticks arrived = clock_.start();
        // In registers: the members' own lines are no part of the question.
        std::uint64_t drawn = 0;
        std::uint64_t number = 0;
        std::uint64_t former = 0;
        Ticks longest = 0;
        const unsigned shift = mark_shift_;
        const std::uint64_t stride = std::uint64_t{1} << shift;
        for (; (number = counter.draw(goal)) < watch_from; former = number) {
            ++drawn;
            if ((number & (stride - 1)) == 0) {
                drawn_at_[number >> shift].store(clock_.stop(), std::memory_order_relaxed);
            }
            if (number - former > stride) { longest = std::max(longest, waited(former, arrived)); }
            // Early on at each power of two: where a draw takes milliseconds, 256 of them are too many.
            const bool look = drawn % draws_between_looks == 0 || (drawn & (drawn - 1)) == 0;
            if (given_up_.load(std::memory_order_relaxed) || (look && takes_too_long())) {
                member.drawn = drawn;
                return;
            }
        }
        longest = std::max(longest, waited_already(arrived));
        if (number - former > stride) { longest = std::max(longest, waited(former, arrived)); }
        while (number < goal && !given_up_.load(std::memory_order_relaxed)) {
            ++drawn;
            const Ticks from = clock_.start();
            number = counter.draw(goal);
            longest = std::max(longest, clock_.stop() - from);
        }
        member = {drawn, watch ? longest : 0};
    }

    /// How long the thread that drew `former` has been kept from its next number: since the others passed the
    /// next mark, so that what they needed up to there is missing.
    Ticks waited(std::uint64_t former, Ticks arrived) const {
        const Ticks now = clock_.stop();
        const Ticks passed = drawn_at_[(former >> mark_shift_) + 1].load(std::memory_order_relaxed);
        const Ticks since = std::max(passed, arrived);
        const bool noted = passed > begun_;  // else who drew it has been stopped before it could
        return noted && now > since ? now - since : 0;
    }

    /// Of the draw during which watching began, what fell into the watched part: one that is kept waiting
    /// until the very end would not be seen otherwise.
    Ticks waited_already(Ticks arrived) {
        const Ticks now = clock_.stop();
        Ticks since = 0;
        if (watching_since_.compare_exchange_strong(since, now)) { return 0; }
        since = std::max(since, arrived);
        return now > since ? now - since : 0;  // another CPU's clock may be some ticks ahead
    }

    bool takes_too_long() {
        if (clock_.elapsed_ns(begun_, clock_.stop()) > longest_batch_ns) { given_up_ = true; }
        return given_up_.load(std::memory_order_relaxed);
    }

    /// Where the next thread in line is seldom running, an increment takes milliseconds: no batch is that
    /// long.
    [[noreturn]] void give_up(std::uint64_t drawn) const {
        throw Unsupported(std::to_string(drawn) + " of " + std::to_string(goal_) + " increments in " +
                          std::to_string(std::lround(longest_batch_ns / 1e9)) + " s with " +
                          std::to_string(threads_) + " threads on " + std::to_string(usable_cpus().size()) +
                          " CPUs: whose turn it is seldom has a CPU while the others wait busily");
    }

    alignas(128) std::atomic<bool> given_up_{false};  ///< read by all, written where a batch takes too long
    std::atomic<Ticks> watching_since_{0};            ///< 0 until a thread draws a number of the watched part
    alignas(128) std::array<std::atomic<Ticks>, most_marks + 2> drawn_at_{};  ///< by mark
    alignas(128) unsigned mark_shift_ = finest_shift;
    unsigned threads_;
    Clock clock_;
    std::optional<OwnLines> counter_;  ///< a new one for each batch
    std::uint64_t goal_ = 0;
    Ticks begun_ = 0;
    std::vector<Member> members_;
    latency::TiedCrew crew_;  ///< last: its threads are gone before what they use
};

}  // namespace toll::contention
