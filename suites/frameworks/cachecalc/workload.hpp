#pragma once

// frameworks/cachecalc: tasks that compute on one shared map, wait, and compute again; the computations take
// turns, the waits overlap. Question, keys and numbers after EvaluateIPC (github.com/ahsank/EvaluateIPC).

#include <toll/clock.hpp>
#include <toll/contender.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace toll::cachecalc {

struct Inputs {
    std::uint64_t tasks;
    unsigned
        threads;  ///< of the contender's pool: at most that many tasks at once where a wait holds a thread
    std::chrono::microseconds wait;
};

/// For contenders that have one thread by their nature: a row among those with more would be named falsely.
/// `why` begins the sentence that others get.
inline void require_one_thread(const Inputs& inputs, const char* why) {
    if (inputs.threads != 1) { throw Unsupported(std::string(why) + "; ask for threads=1"); }
}

/// What the tasks compute on. Not synchronised: the contender lets one task compute at a time.
class alignas(64) Cache {  // shards that share nothing do not share a cache line either
public:
    /// Reads each key's text, turns it into an integer, adds 1 and writes it back: two look-ups a key, as in
    /// the source and in the other languages. With one, C++ would have had 28 % less to compute than they.
    void compute() {
        for (int key = 0; key < keys; ++key) {
            const std::string name = "hello" + std::to_string(key);
            const auto known = values_.find(name);
            const int value = known == values_.end() ? first_value : std::stoi(known->second);
            values_[name] = std::to_string(value + 1);
        }
    }

    /// Whether every key holds what `computations` leave behind; an update that was lost shows here.
    [[nodiscard]] bool holds(std::uint64_t computations) const {
        const auto right = [&](const auto& entry) {
            return entry.second == std::to_string(static_cast<std::uint64_t>(first_value) + computations);
        };
        return computations == 0
                   ? values_.empty()
                   : values_.size() == keys && std::all_of(values_.begin(), values_.end(), right);
    }

private:
    static constexpr int keys = 10;
    static constexpr int first_value = 10'000;
    std::unordered_map<std::string, std::string> values_;
};

/// One iteration's work, as a contender sees it. Task numbers run from 0 to tasks() - 1.
class Load {
public:
    Load(const Inputs& inputs, unsigned shards, const Clock& clock)
        : inputs_(inputs), clock_(clock), caches_(shards), waits_(inputs.tasks / stamped_every + 1) {}

    [[nodiscard]] std::uint64_t tasks() const noexcept { return inputs_.tasks; }
    [[nodiscard]] std::chrono::microseconds wait() const noexcept { return inputs_.wait; }
    /// One for all but those that share nothing.
    [[nodiscard]] Cache& cache(unsigned shard = 0) { return caches_[shard]; }
    [[nodiscard]] const Cache& cache(unsigned shard = 0) const { return caches_[shard]; }
    /// The serialized computation; twice a task, before and after its wait.
    void compute() { caches_.front().compute(); }
    /// Tasks of a contender that shares nothing: as evenly as they divide.
    [[nodiscard]] std::uint64_t tasks_of(unsigned shard) const noexcept {
        return tasks() / caches_.size() + (shard < tasks() % caches_.size() ? 1 : 0);
    }

    [[nodiscard]] std::uint64_t first_task_of(unsigned shard) const noexcept {
        return tasks() / caches_.size() * shard + std::min<std::uint64_t>(shard, tasks() % caches_.size());
    }

    /// Called by each task right before it asks for its wait, and right after it got to run again.
    void wait_begins(std::uint64_t task) noexcept {
        if (task % stamped_every == 0) { waits_[task / stamped_every].begin = clock_.start(); }
    }
    void wait_ended(std::uint64_t task) noexcept {
        if (task % stamped_every == 0) { waits_[task / stamped_every].end = clock_.stop(); }
    }

    /// What the stamped tasks waited, ns, sorted.
    [[nodiscard]] std::vector<double> waits_ns() const {
        std::vector<double> waits;
        for (std::uint64_t task = 0; task < tasks(); task += stamped_every) {
            const auto& [begin, end] = waits_[task / stamped_every];
            waits.push_back(clock_.raw_ns(begin, end));
        }
        std::sort(waits.begin(), waits.end());
        return waits;
    }

    /// Whether each task that is stamped told both ends of its wait; one end alone makes no wait.
    [[nodiscard]] bool all_stamped() const {
        const auto stamped = [](const Wait& wait) { return wait.begin != 0 && wait.end != 0; };
        const auto count = static_cast<std::ptrdiff_t>((tasks() + stamped_every - 1) / stamped_every);
        return std::all_of(waits_.begin(), waits_.begin() + count, stamped);
    }

    /// Before each iteration: what every contender has, one cache and the waits.
    void reset() {
        caches_.front() = {};
        std::fill(waits_.begin(), waits_.end(), Wait{});
    }
    /// Before each batch: the caches that only contenders with several have.
    void reset_others() {
        for (std::size_t shard = 1; shard < caches_.size(); ++shard) { caches_[shard] = {}; }
    }

private:
    /// Two clock reads in every task would be 2 % of the fastest contenders' time.
    static constexpr std::uint64_t stamped_every = 16;
    struct Wait {
        Ticks begin = 0;
        Ticks end = 0;
    };

    Inputs inputs_;
    const Clock& clock_;
    std::vector<Cache> caches_;
    std::vector<Wait> waits_;
};

/// What a contender models: made once with its pools and loops, then asked again and again.
///  - `run(load)` has every task of `load` compute, wait and compute, and returns once all have ended;
///  - `computations_per_task` (optional): 0 for a baseline that waits only; all others compute twice;
///  - `never_waits` (optional): true for a baseline that computes only;
///  - `shards(inputs)` (optional): how many caches it wants, none of them shared;
///  - `inside(work)` (optional): calls `work`, a batch's iterations or what precedes them, from a thread of
///  the framework's own:
///    where its threads never sleep, one more that hands each iteration over would wait for a CPU;
///  - `footing()` (optional): what was observed besides the threads.
template <class F>
concept Framework =
    std::constructible_from<F, const Inputs&> && requires(F framework, Load& load) { framework.run(load); };

template <Framework F>
class Workload {
public:
    static constexpr WorkloadInfo info{"frameworks/cachecalc", Kind::batch, "ns", "task"};
    static constexpr bool once_per_process = requires { requires F::once_per_process; };

    static std::vector<Parameter> parameters() {
        return {{"tasks", "1000", "tasks", "tasks of one iteration"},
                {"wait_us", "8", "us", "what each task waits between its two computations"},
                {"threads", "8", "threads", "threads of the contender's pool, or of its runtime"}};
    }

    explicit Workload(const Arguments& arguments)
        : inputs_{arguments.number("tasks", 1, 10'000'000),
                  static_cast<unsigned>(arguments.number("threads", 1, 4096)),
                  std::chrono::microseconds{arguments.number("wait_us", 0, 1'000'000)}},
          clock_(calibrated_once()),
          framework_(inputs_),
          load_(inputs_, shards(inputs_), clock_) {}

    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return inputs_.tasks; }

    /// Not timed; in the thread that will run the iterations.
    void before_batch() {
        const auto reset = [this] { load_.reset_others(); };
        inside(reset);
    }
    void after_batch() noexcept {}

    Checksum run(std::uint64_t iterations) {
        const auto all = [&] {
            for (std::uint64_t i = 0; i < iterations; ++i) {
                load_.reset();
                framework_.run(load_);
                check();
            }
            iterations_of_batch_ = iterations;
        };
        inside(all);
        return iterations * inputs_.tasks;
    }

    /// Asked after the clock has stopped. Throws WrongAnswer.
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const {
        check_other_shards();
        return iterations * inputs_.tasks;
    }

    /// Of the last iteration: its stamped tasks' waits.
    [[nodiscard]] Details details() const {
        const std::vector<double> waits = load_.waits_ns();
        if (never_waits || waits.empty()) { return {}; }
        return {{"wait_median_us", waits[waits.size() / 2] / 1e3}, {"wait_longest_us", waits.back() / 1e3}};
    }

    [[nodiscard]] Footing footing() const {
        Footing footing{{"threads", inputs_.threads}};
        if constexpr (requires { framework_.footing(); }) {
            const Footing known_better = framework_.footing();
            for (const auto& [name, value] : known_better.all()) {
                std::visit([&, &key = name](const auto& known) { footing.set({key, known}); }, value);
            }
        }
        return footing;
    }

private:
    static constexpr bool never_waits = requires { requires F::never_waits; };

    template <class Work>
    void inside(Work& work) {
        if constexpr (requires { framework_.inside(work); }) {
            framework_.inside(work);
        } else {
            work();
        }
    }

    static constexpr std::uint64_t computations_per_task() {
        if constexpr (requires { F::computations_per_task; }) {
            return F::computations_per_task;
        } else {
            return 2;
        }
    }

    static unsigned shards(const Inputs& inputs) {
        if constexpr (requires { F::shards(inputs); }) {
            return F::shards(inputs);
        } else {
            return 1;
        }
    }

    static const Clock& calibrated_once() {
        static const Clock clock = Clock::system();
        return clock;
    }

    /// What the tasks of some iterations leave behind in a shard's cache. Throws WrongAnswer.
    void check_shard(unsigned shard, std::uint64_t iterations) const {
        if (!load_.cache(shard).holds(computations_per_task() * load_.tasks_of(shard) * iterations)) {
            throw WrongAnswer("a key of the map does not hold what its tasks computed");
        }
    }

    /// The caches beside the first one go on through a batch: cleared and checked in each iteration, as many
    /// as there are CPUs, they would cost time that contenders with one cache do not spend.
    void check_other_shards() const {
        for (unsigned shard = 1; shard < shards(inputs_); ++shard) {
            check_shard(shard, iterations_of_batch_);
        }
    }

    /// Every update arrived, and no wait was shorter than asked for. Throws WrongAnswer.
    void check() const {
        check_shard(0, 1);
        if (never_waits) { return; }
        if (!load_.all_stamped()) {
            throw WrongAnswer("a task did not tell when its wait began or ended: wait_begins, wait_ended");
        }
        const double asked_ns = std::chrono::duration<double, std::nano>(inputs_.wait).count();
        // The framework's clock and this one are calibrated apart; their frequencies differ by less.
        if (const double shortest_ns = load_.waits_ns().front(); shortest_ns < 0.98 * asked_ns) {
            throw WrongAnswer("a task waited " + std::to_string(shortest_ns / 1e3) + " us instead of " +
                              std::to_string(inputs_.wait.count()));
        }
    }

    Inputs inputs_;
    const Clock& clock_;
    F framework_;
    Load load_;
    std::uint64_t iterations_of_batch_ = 0;  // the last one, where it ended well
};

}  // namespace toll::cachecalc
