#pragma once

// What pinning=each_cpu does: a contender's worker threads, each tied to one CPU.

#include "first_failure.hpp"
#include "workload.hpp"

#include <toll/threads.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace toll::skynet {

/// Where the workers of one contender are tied, as each of them saw it. With pinning=none it does nothing. It
/// is made before the workers and ends after them.
class Pins {
public:
    explicit Pins(const Inputs& inputs) : cpus_(inputs.pinning == Pinning::none ? 0 : inputs.threads) {
        for (auto& cpu : cpus_) { cpu = nowhere; }
    }

    [[nodiscard]] bool wanted() const noexcept { return !cpus_.empty(); }

    /// Called by worker `worker` (0, 1 ...) in its own thread: ties that to the CPU with this number among
    /// those that the process may use, from the first one again where they are fewer. A refusal waits for
    /// check().
    void tie(unsigned worker) noexcept {
        tie_by(worker, [](int cpu) { pin_this_thread(cpu); });
    }

    /// The same for the thread that asks for the tree, where it works too: it is worker 0, and gets its CPUs
    /// back in the end.
    void tie_caller() noexcept {
        tie_by(0, [this](int cpu) { caller_.emplace(cpu); });
    }

    /// Once all workers have been at tie(): throws what one of them met there, and Unsupported where one has
    /// not come.
    void check() const {
        rethrow();
        const auto seen = tied();
        const auto there = seen.size() - static_cast<std::size_t>(std::ranges::count(seen, nowhere));
        if (there == seen.size()) { return; }
        throw Unsupported("pinning=each_cpu: " + std::to_string(there) + " of " +
                          std::to_string(seen.size()) + " worker threads came to be tied");
    }

    /// Throws what a worker that came later met.
    void rethrow() const { failure_.rethrow(); }

    /// Observed; nothing with pinning=none.
    [[nodiscard]] Footing footing() const {
        if (!wanted()) { return {}; }
        return {{"pinning", name_of(Pinning::each_cpu)},
                {"pinned_cpus", cpu_list(tied())},  // by worker
                {"threads_per_cpu", cpus_.size() > usable_cpus().size() ? "several" : "at most one"}};
    }

private:
    static constexpr int nowhere = -1;

    template <class Tie>
    void tie_by(unsigned worker, const Tie& tie) noexcept {
        if (!wanted()) { return; }
        try {
            const int cpu = usable_cpus()[worker % usable_cpus().size()];
            tie(cpu);
            cpus_.at(worker) = cpu;
        } catch (...) { failure_.keep(std::current_exception()); }
    }

    [[nodiscard]] std::vector<int> tied() const { return {cpus_.begin(), cpus_.end()}; }

    std::vector<std::atomic<int>>
        cpus_;                      ///< by worker; a runtime may give a worker's place to another thread
    mutable FirstFailure failure_;  ///< is empty once it was thrown
    std::optional<PinnedHere> caller_;
};

/// What a library is given to call in each of its threads as that begins, and the wait until all have come.
/// It is made after the pins and before the threads.
class TyingEach {
public:
    explicit TyingEach(Pins& pins) : pins_(pins) {}

    /// Called with a worker's number (0, 1 ...) in its own thread; empty where nothing is to be tied.
    [[nodiscard]] std::function<void(std::size_t)> hook() {
        if (!pins_.wanted()) { return nullptr; }
        return [this](std::size_t worker) {
            pins_.tie(static_cast<unsigned>(worker));
            ++tied_;
            tied_.notify_all();
        };
    }

    /// By what was read: read anew for the wait it may be the last one's, of which nobody tells any more.
    void wait_for(unsigned threads) const {
        if (!pins_.wanted()) { return; }
        for (unsigned seen = tied_; seen < threads; seen = tied_) { tied_.wait(seen); }
    }

private:
    Pins& pins_;
    std::atomic<unsigned> tied_{0};
};

}  // namespace toll::skynet
