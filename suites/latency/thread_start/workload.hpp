#pragma once

// latency/thread_start: how long the thread that starts another one is blocked (cost), and how long it takes
// until the other one runs its function (latency). Question after the "concurrency latency" document of 2022
// (points A to B and A to C there).

#include "../shared/placement.hpp"
#include "../shared/sleeper.hpp"

#include <toll/contender.hpp>
#include <toll/offset.hpp>
#include <toll/resources.hpp>
#include <toll/threads.hpp>

#include <sched.h>
#include <unistd.h>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace toll::thread_start {

/// What the started thread runs: it notes when, who and for which sample. Read once the starter has finished.
class Arrival {
public:
    /// For the started thread.
    void operator()() noexcept {
        at_ = clock_->stop();
        note(wanted_, std::this_thread::get_id() != starter_, ::sched_getcpu());
        if (watched_ != nullptr) {
            watched_->watch_this_thread();
            watched_ = nullptr;
        }
    }

    /// For a started process, which has no access to this object: its starter repeats what it said. `cpu` is
    /// the one that it ran on, below 0 where it does not know.
    void repeat(Ticks at, std::uint64_t number, bool elsewhere, int cpu) noexcept {
        at_ = at;
        note(number, elsewhere, cpu);
    }

    [[nodiscard]] Ticks at() const noexcept { return at_; }
    /// 1 where the function ran for this sample and outside the thread that asked for it.
    [[nodiscard]] std::uint64_t answer() const noexcept { return ran_ == wanted_ && elsewhere_ ? 1 : 0; }
    [[nodiscard]] std::uint64_t number() const noexcept { return wanted_; }
    /// Whether the function ran on the CPU that its starter was on just before; false where one is not known.
    [[nodiscard]] bool same_cpu() const noexcept { return cpu_known() && cpu_ == starter_cpu_; }
    [[nodiscard]] bool cpu_known() const noexcept { return cpu_ >= 0 && starter_cpu_ >= 0; }
    [[nodiscard]] const Clock& clock() const noexcept { return *clock_; }

    /// For the workload, before each sample; `clock` is read until the starter has finished.
    void expect(const Clock& clock, std::uint64_t number) noexcept {
        clock_ = &clock;
        wanted_ = number;
        elsewhere_ = false;
        starter_ = std::this_thread::get_id();
        cpu_ = -1;
        starter_cpu_ = ::sched_getcpu();
    }
    /// The next thread to arrive shows its state through `sleeper` from then on.
    void watch(latency::Sleeper& sleeper) noexcept { watched_ = &sleeper; }

private:
    void note(std::uint64_t number, bool elsewhere, int cpu) noexcept {
        ran_ = number;
        elsewhere_ = elsewhere;
        cpu_ = cpu;
    }

    const Clock* clock_ = nullptr;
    latency::Sleeper* watched_ = nullptr;
    std::thread::id starter_;
    std::uint64_t wanted_ = 0;
    std::uint64_t ran_ = 0;
    Ticks at_ = 0;
    int cpu_ = -1;
    int starter_cpu_ = -1;
    bool elsewhere_ = false;
};

/// What a contender models.
///  - `start(arrival)` has another thread call `arrival()` and returns as soon as the library does; timed;
///  - `finish()` returns once that thread has called it and, where it was made for this alone, has ended;
///    untimed;
///  - `keeps_thread` (optional): true where one thread serves all samples; each sample then begins once the
///    kernel shows that thread asleep;
///  - `used_elsewhere()` (optional): what processes of its own have used so far, where it starts those;
///  - `footing()` (optional): what the contender was seen to stand on besides what the workload shows.
template <class S>
concept Starter = requires(S starter, Arrival& arrival) {
    starter.start(arrival);
    starter.finish();
};

/// One thread after the other. Nothing is tied to a CPU: where the scheduler puts a new thread is part of
/// what its start costs. The starting thread sleeps until the new one has ended, as in a join.
template <Starter S>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/thread_start", Kind::samples, "ns", "start"};

    static std::vector<Parameter> parameters() {
        return {{"quantity", "latency", "",
                 "cost: until the starting thread goes on; latency: from the same instant until the started "
                 "one runs"}};
    }

    /// `known_offset` is taken instead of a measured one: what the last usable CPU's clock shows beyond the
    /// first's. Throws Unsupported where a time would have to run from one of two clocks to the other.
    explicit Workload(const Arguments& arguments, std::optional<ClockOffset> known_offset = {})
        : cost_(is_cost(arguments)), starter_(make_contender<S>(arguments)) {
        if (!cost_) {
            latency::check_one_clock(known_offset ? *known_offset : first_to_last().offset, ends());
        }
        if constexpr (keeps_thread) {
            // One start that does not count tells which thread it is.
            const Clock clock = Clock::system();
            arrival_.watch(sleeper_);
            arrival_.expect(clock, number_);
            starter_.start(arrival_);
            starter_.finish();
        }
    }

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        Checksum answers{0};
        placed_ = on_same_cpu_ = 0;
        const Resources before = used_by_children();
        for (float& entry : nanoseconds) {
            if constexpr (keeps_thread) {
                sleeper_.await_asleep([] { return false; }, [] { std::this_thread::yield(); });
            }
            arrival_.expect(clock, ++number_);
            const auto begin = clock.start();
            starter_.start(arrival_);
            const auto back = clock.stop();
            starter_.finish();
            entry = static_cast<float>(clock.elapsed_ns(begin, cost_ ? back : arrival_.at()));
            answers += arrival_.answer();
            placed_ += arrival_.cpu_known() ? 1 : 0;
            on_same_cpu_ += arrival_.same_cpu() ? 1 : 0;
        }
        used_elsewhere_ = used_by_children() - before;
        return answers;
    }

    /// By the processes that the last request started.
    [[nodiscard]] Resources used_elsewhere() const noexcept { return used_elsewhere_; }

    /// About the last request.
    [[nodiscard]] Details details() const {
        if (placed_ == 0) { return {}; }
        return {{"same_cpu_share", static_cast<double>(on_same_cpu_) / static_cast<double>(placed_)}};
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        Footing seen{{"usable_cpus", usable_cpus().size()}, {"clock_offset_ns", first_to_last().text}};
        if (keeps_thread) { seen.set({"sleep_seen_by", sleeper_.seen_by()}); }
        if constexpr (requires { starter_.footing(); }) {
            const Footing own = starter_.footing();
            for (const auto& [name, value] : own.all()) {
                std::visit([&, &key = name](const auto& known) { seen.set({key, known}); }, value);
            }
        }
        return seen;
    }

private:
    static constexpr bool keeps_thread = requires { requires S::keeps_thread; };

    [[nodiscard]] Resources used_by_children() const noexcept {
        if constexpr (requires { starter_.used_elsewhere(); }) { return starter_.used_elsewhere(); }
        return {};
    }

    static bool is_cost(const Arguments& arguments) {
        const std::string& quantity = arguments.text("quantity");
        if (quantity != "cost" && quantity != "latency") {
            throw Unsupported("quantity is cost or latency, got " + quantity);
        }
        return quantity == "cost";
    }

    /// What the clock of the last usable CPU shows beyond that of the first.
    struct FirstToLast {
        ClockOffset offset;
        std::string text;  ///< as a Footing's clock_offset_ns
    };

    /// Both as in "0,1".
    static std::string ends() {
        return std::to_string(usable_cpus().front()) + "," + std::to_string(usable_cpus().back());
    }

    /// Measured once a process. It is not removed from a time: each pair of CPUs has one of its own. Where
    /// the clocks agree it is below half a round trip between two CPUs, which is little beside a start.
    static const FirstToLast& first_to_last() {
        static const FirstToLast seen = []() -> FirstToLast {
            const auto& cpus = usable_cpus();
            if (cpus.size() < 2) { return {{}, "0: one CPU, one clock"}; }
            try {
                const auto offset = measure_offset(Clock::system(), cpus.front(), cpus.back(), 500);
                return {offset, std::to_string(std::lround(offset.ns)) + " from CPU " +
                                    std::to_string(cpus.front()) + " to " + std::to_string(cpus.back()) +
                                    ", not removed"};
            } catch (const Unsupported& refusal) {
                return {{}, "not measured: " + std::string(refusal.what())};
            }
        }();
        return seen;
    }

    bool cost_;
    std::uint64_t number_ = 0;
    std::uint64_t placed_ = 0;       ///< starts of the last request of which both CPUs are known
    std::uint64_t on_same_cpu_ = 0;  ///< those of them that ran on their starter's CPU
    Resources used_elsewhere_;       ///< by processes that the last request started
    latency::Sleeper sleeper_;
    Arrival arrival_;
    S starter_;
};

}  // namespace toll::thread_start
