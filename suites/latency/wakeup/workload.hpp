#pragma once

// latency/wakeup: the time from the signal in one thread to the return from the wait in another.
// Question and contenders after the "concurrency latency" document of 2022 (see published.toml), which made a
// thread for each sample; here one pair of threads serves all samples of a launch.

#include "../shared/placement.hpp"
#include "../shared/sleeper.hpp"

#include <toll/barriers.hpp>
#include <toll/contender.hpp>
#include <toll/offset.hpp>
#include <toll/relax.hpp>

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace toll::wakeup {

/// What a contender models. One thread raises, one other thread waits; each wait answers one raise.
///  - `raise()` is the signal, timed from just before it;
///  - `wait()` returns once the signal was raised, timed until just after it;
///  - `arm()` (optional) is called by the raising thread before the other begins to wait, untimed: a mutex is
///    locked here, and what serves one wait alone is made anew;
///  - `disarm()` (optional) is called by the waiting thread after `wait` returned, untimed: a flag is cleared
///    here;
///  - `never_sleeps` (optional): true for a contender that spins for as long as it waits;
///  - `footing()` (optional): what the contender was seen to stand on besides what the workload shows.
template <class S>
concept Signal = std::default_initializable<S> && requires(S signal) {
    signal.raise();
    signal.wait();
};

/// What the waiter has come to when it is signalled; see Workload.
enum class Mode { parked, hot, announced };

template <Signal S>
inline constexpr bool never_sleeps = requires { requires S::never_sleeps; };

template <Signal S>
void arm(S& signal) {
    if constexpr (requires { signal.arm(); }) { signal.arm(); }
}

/// Ends the process where a signal cannot be raised: who waits for it sleeps for good, and nobody could join
/// that thread.
template <Signal S>
void raise(S& signal) noexcept {
    signal.raise();
}

template <Signal S>
void disarm(S& signal) {
    if constexpr (requires { signal.disarm(); }) { signal.disarm(); }
}

/// Two threads on two CPUs, or on one and the same, kept in step by polling atomics outside the timed part.
///  - parked: this thread raises `there` once the kernel shows the peer asleep in its wait (seen, not
///  assumed;
///    a contender that never sleeps has then waited for `settle_ns`). The sample runs from this thread's
///    raise to the peer's return.
///  - hot: a ping-pong. This thread raises `there` and at once waits on `back`, which the peer raises once it
///    has returned and this thread is about to wait. The sample runs from the peer's raise to this thread's
///    return. What the wait has come to by then, if it has begun, is the contender's: `slept_share` tells.
///  - announced: as the document's program has it. This thread sleeps until the peer says that it is about to
///    wait, and raises `there` as soon as it has woken. The peer says so once it has seen this thread asleep:
///    the document's peer is a new thread, and its start lasts longer than anybody polls. The sample runs as
///    in parked mode.
/// The clock's overhead and the offset between the two CPUs' clocks are taken from each sample.
/// Every raise publishes a plain integer first; a wait that returns before its raise reads the old one, and
/// the sample's answer is then 0 instead of 1.
template <Signal S>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/wakeup", Kind::samples, "ns", "wake-up"};

    static std::vector<Parameter> parameters() {
        return {{"mode", "parked", "",
                 "parked: the waiter sleeps in the kernel (seen); hot: it is about to wait, or has just "
                 "begun to (ping-pong); announced: it said so, and its signaller woke to that (the "
                 "document's)"},
                {"placement", "auto", "",
                 "the two threads' CPUs: same_core, smt (of one core), cluster (behind one last-level cache) "
                 "or far; auto: the first of cluster, far, smt, same_core that there is"}};
    }

    /// `known_offset_ns` is taken instead of a measured one: what the second CPU's clock shows beyond the
    /// first's.
    explicit Workload(const Arguments& arguments, std::optional<double> known_offset_ns = {})
        : mode_(mode_of(arguments)), place_(arguments.text("placement")) {
        if (never_sleeps<S> && !place_.apart()) { throw Unsupported(why_no_spinning()); }
        offset_ns_ = known_offset_ns ? *known_offset_ns : place_.clock_offset(Clock::system()).ns;
        signaller_.watch_this_thread();
        peer_ = std::thread([this] { serve_peer(); });
        // Else the peer's own start would fall into the first samples, and its allocations into the
        // counting pass.
        while (!peer_ready_.load(std::memory_order_acquire)) { relax(); }
        if (peer_failed_) {
            peer_.join();
            std::rethrow_exception(peer_failed_);
        }
    }

    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;

    ~Workload() {
        turn_.store(stop, std::memory_order_release);
        peer_.join();
    }

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        clock_ = &clock;
        Checksum answers{0};
        const long before = switches();
        for (float& entry : nanoseconds) { answers += hot() ? sample_hot(entry) : sample_signalled(entry); }
        slept_ = static_cast<double>(switches() - before);
        waits_ = nanoseconds.size();
        place_.check_still_there(::sched_getcpu(), peer_cpu_);
        return answers;
    }

    /// About the last request. A wait may give its CPU up more than once: the share stops at 1.
    [[nodiscard]] Details details() const {
        if (waits_ == 0) { return {}; }
        return {{"slept_share", std::clamp(slept_ / static_cast<double>(waits_), 0.0, 1.0)}};
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        Footing seen{{"threads", std::int64_t{2}},
                     {"pinned_cpus", place_.pinned_cpus()},
                     {"placement", place_.placement()},
                     {"clock_offset_ns", place_.clock_offset_text(offset_ns_)},
                     {"waits", how_it_waits()}};
        if (mode_ == Mode::announced || (!never_sleeps<S> && !hot())) {
            seen.set({"sleep_seen_by", sleeper_.seen_by()});
        }
        if constexpr (requires { there_.footing(); }) {
            const Footing own = there_.footing();
            // By pair: before version 16, Clang's lambdas cannot capture structured bindings.
            for (const auto& entry : own.all()) {
                std::visit([&](const auto& known) { seen.set({entry.first, known}); }, entry.second);
            }
        }
        return seen;
    }

private:
    static constexpr std::uint64_t stop = ~std::uint64_t{0};
    /// About as long as the others take until the kernel shows them asleep.
    static constexpr double settle_ns = 20'000;

    [[nodiscard]] const char* how_it_waits() const {
        if (never_sleeps<S>) { return "spins"; }
        return mode_ == Mode::parked ? "sleeps in the kernel"
                                     : "whatever it had come to: no wait yet, polling or asleep";
    }

    /// How often the thread whose waits are timed has given its CPU up so far, as the kernel counts it
    /// (getrusage(2): ru_nvcsw, in which sched_yield does not show). Unless it is hot, that thread is the
    /// peer, beside which this process has no other.
    [[nodiscard]] long switches() const {
        rusage mine{};
        ::getrusage(RUSAGE_THREAD, &mine);
        if (hot()) { return mine.ru_nvcsw; }
        rusage all{};
        ::getrusage(RUSAGE_SELF, &all);
        return all.ru_nvcsw - mine.ru_nvcsw;
    }

    [[nodiscard]] std::string why_no_spinning() const {
        const std::string reason =
            "a waiter that never sleeps keeps the CPU that its signaller needs: on one CPU the scheduler's "
            "time slice would be measured, not the wake-up";
        if (usable_cpus().size() < 2) { return reason + "; this process may use one CPU"; }
        return place_.same_core() ? reason : reason + "; " + place_.refusal();
    }

    static Mode mode_of(const Arguments& arguments) {
        const std::string& mode = arguments.text("mode");
        if (mode == "parked") { return Mode::parked; }
        if (mode == "hot") { return Mode::hot; }
        if (mode == "announced") { return Mode::announced; }
        throw Unsupported("mode is parked, hot or announced, got " + mode);
    }

    [[nodiscard]] bool hot() const noexcept { return mode_ == Mode::hot; }

    /// One step of waiting for the other thread, outside the timed part. Where both may share a CPU, polling
    /// without giving way would last for a time slice.
    void relax() const {
        if (place_.apart()) [[likely]] {
            cpu_relax();
        } else {
            ::sched_yield();
        }
    }

    /// From `start`, read on CPU 0 of the pair, to `stop`, read on CPU 1 (`sign` 1), or the other way (-1).
    [[nodiscard]] float between(Ticks start, Ticks stop_at, int sign) const {
        const double ns = clock_->raw_ns(start, stop_at) - clock_->overhead_ns() - sign * offset_ns_;
        return static_cast<float>(std::max(ns, 0.0));
    }

    /// Parked or announced: the peer's wait is timed.
    Checksum sample_signalled(float& entry) {
        begin_turn();
        if (mode_ == Mode::parked) { settle(); }
        const bool still_waiting = returned_.load(std::memory_order_acquire) != number_;
        message_ = number_;
        drain_stores();
        const auto raised = clock_->start();
        raise(there_);
        await(returned_);
        entry = between(raised, peer_at_, 1);
        return still_waiting && peer_read_ == number_ ? 1 : 0;
    }

    Checksum sample_hot(float& entry) {
        begin_turn();
        message_ = number_;
        raise(there_);
        going_.store(number_, std::memory_order_release);
        back_.wait();
        const auto returned = clock_->stop();
        const bool message_seen = reply_ == number_;
        disarm(back_);
        await(returned_);
        entry = between(peer_at_, returned, -1);
        return message_seen && peer_read_ == number_ ? 1 : 0;
    }

    /// Arms the signal and lets the peer begin to wait on it.
    void begin_turn() {
        ++number_;
        arm(there_);
        turn_.store(number_, std::memory_order_release);
        if (mode_ == Mode::announced) {
            hear_announcement();
        } else {
            await(waiting_);
        }
    }

    /// Sleeps until the peer says that it is about to wait.
    void hear_announcement() {
        announced_.wait(false, std::memory_order_acquire);
        announced_.clear(std::memory_order_relaxed);
        if (!peer_failed_) { return; }
        let_peer_go();
        std::rethrow_exception(peer_failed_);
    }

    /// The peer's side of it.
    void announce() {
        try {
            signaller_.await_asleep([] { return false; }, [this] { relax(); });
        } catch (...) { peer_failed_ = std::current_exception(); }
        announced_.test_and_set(std::memory_order_release);
        announced_.notify_one();
    }

    /// After a failure, so that the destructor can join it.
    void let_peer_go() {
        raise(there_);
        await(returned_);
    }

    void settle() {
        if constexpr (never_sleeps<S>) {
            const auto begin = clock_->start();
            while (clock_->elapsed_ns(begin, clock_->stop()) < settle_ns) { cpu_relax(); }
        } else {
            try {
                sleeper_.await_asleep([this] { return returned_.load(std::memory_order_acquire) == number_; },
                                      [this] { relax(); });
            } catch (...) {
                let_peer_go();
                throw;
            }
        }
    }

    void await(const std::atomic<std::uint64_t>& counter) const {
        while (counter.load(std::memory_order_acquire) != number_) { relax(); }
    }

    void serve_peer() {
        try {
            place_.pin_peer();
            sleeper_.watch_this_thread();
        } catch (...) { peer_failed_ = std::current_exception(); }
        peer_ready_.store(true, std::memory_order_release);
        if (peer_failed_) { return; }
        for (std::uint64_t number = 1;; ++number) {
            std::uint64_t turn = 0;
            while ((turn = turn_.load(std::memory_order_acquire)) != number && turn != stop) { relax(); }
            if (turn == stop) { return; }
            if (hot()) { arm(back_); }
            if (mode_ == Mode::announced) { announce(); }
            waiting_.store(number, std::memory_order_release);
            there_.wait();
            answer(number);
            peer_cpu_ = ::sched_getcpu();
            returned_.store(number, std::memory_order_release);
        }
    }

    void answer(std::uint64_t number) {
        if (!hot()) {
            peer_at_ = clock_->stop();
            peer_read_ = message_;
            disarm(there_);
            return;
        }
        peer_read_ = message_;
        disarm(there_);
        // A raise may last longer than the peer's way through its wait: without this the peer answered before
        // anybody waited (std::atomic_flag: in 99.8 % of the samples), and the sample was the rest of the
        // raise.
        while (going_.load(std::memory_order_acquire) != number) { relax(); }
        reply_ = number;
        // What the harness wrote, here and below, must not stand before the raise in the store buffer: each
        // such store misses the cache, and the raise would be seen only after them.
        drain_stores();
        const Ticks raised = clock_->start();
        raise(back_);
        peer_at_ = raised;
    }

    // The signals stand on cache lines of their own, away from the atomics that keep the threads in step.
    alignas(128) S there_;
    alignas(128) S back_;
    alignas(128) std::uint64_t message_ = 0;  ///< plain on purpose: the contender must publish it
    alignas(128) std::uint64_t reply_ = 0;    ///< likewise, the other way
    alignas(128) std::atomic<std::uint64_t> turn_{0};
    alignas(128) std::atomic<std::uint64_t> waiting_{0};
    alignas(128) std::atomic<std::uint64_t> returned_{0};
    alignas(128) std::atomic<std::uint64_t> going_{
        0};                                    ///< hot: this thread's next step is to wait on `back_`
    alignas(128) std::atomic_flag announced_;  ///< announced: the peer's next step is to wait on `there_`
    alignas(128) std::atomic<bool> peer_ready_{false};
    std::exception_ptr peer_failed_;  ///< written before `peer_ready_`, or before `announced_`
    std::uint64_t peer_read_ = 0;     ///< written by the peer before `returned_`, read after it
    Ticks peer_at_ = 0;               ///< likewise
    int peer_cpu_ = -1;               ///< likewise
    alignas(128) std::uint64_t number_ = 0;
    const Clock* clock_ = nullptr;  ///< set before the first turn, published to the peer by `turn_`
    Mode mode_;
    latency::PlacedPair place_;
    double offset_ns_ = 0;        ///< what the second CPU's clock shows beyond the first's
    double slept_ = 0;            ///< of the last request: how often the waiting thread gave its CPU up
    std::size_t waits_ = 0;       ///< of the last request
    latency::Sleeper sleeper_;    ///< watches the peer
    latency::Sleeper signaller_;  ///< watches this thread
    std::thread peer_;
};

}  // namespace toll::wakeup
