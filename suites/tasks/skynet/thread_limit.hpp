#pragma once

#include "machine_limits.hpp"

#include <atomic>
#include <string>
#include <system_error>
#include <utility>

namespace toll::skynet {

/// Counts the operating-system threads of a tree that are made and not yet joined, so that a tree too large
/// for this machine ends with a sentence. Costs two atomic additions a thread, which itself costs over a
/// thousand times as much.
class ThreadLimit {
public:
    static constexpr bool thread_per_task = true;

    explicit ThreadLimit(const Inputs& inputs)
        : inputs_(inputs), limit_(lowest(units_below_root(inputs.tasks))) {
        if (inputs.threads != 0) {
            throw Unsupported("every task has a thread of its own; ask for threads=0");
        }
    }

    bool room() noexcept {
        if (alive_.fetch_add(1, std::memory_order_relaxed) < limit_.units) { return true; }
        alive_.fetch_sub(1, std::memory_order_relaxed);
        exceeded_.store(true, std::memory_order_relaxed);
        return false;
    }
    void ended() noexcept { alive_.fetch_sub(1, std::memory_order_relaxed); }
    /// The kernel refused a thread for a reason of its own.
    [[noreturn]] void cannot_start() const {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                "no further thread can be made with tasks=" + std::to_string(inputs_.tasks) +
                                    " (look at ulimit -u, ulimit -v and the container's memory limit)");
    }
    void check() {
        if (exceeded_.exchange(false)) { throw beyond(limit_, inputs_, "threads"); }
    }

private:
    static Limit lowest(std::uint64_t all_units) {
        std::uint64_t running = 0;  // the fourth word is RUNNING/ALL
        std::string word;
        std::ifstream load("/proc/loadavg");
        for (int i = 0; i < 4; ++i) { load >> word; }
        if (const auto slash = word.find('/'); slash != std::string::npos) {
            running = std::stoull(word.substr(slash + 1));
        }
        const Limit maps = guarded_stacks_limit(all_units);
        const Limit pids = sysctl_limit("kernel.pid_max", running, 1, "one number a thread", all_units);
        const Limit threads =
            sysctl_limit("kernel.threads-max", running, 1, "all threads of the machine", all_units);
        const auto fewer = [](const Limit& a, const Limit& b) { return a.units < b.units; };
        return std::min({maps, pids, threads, cgroup()}, fewer);
    }

    /// A container's own limit, under either version of the control groups.
    static Limit cgroup() {
        for (const std::string folder : {"/sys/fs/cgroup/", "/sys/fs/cgroup/pids/"}) {
            const std::uint64_t limit = number_in(folder + "pids.max", 0);
            if (limit == 0) { continue; }
            return {folder + "pids.max = " + std::to_string(limit), "a larger --pids-limit for the container",
                    left_of(limit, number_in(folder + "pids.current", 0))};
        }
        return {};
    }

    Inputs inputs_;
    Limit limit_;
    std::atomic<std::uint64_t> alive_{0};
    std::atomic<bool> exceeded_{false};
};

/// Tells `census` of each thread. One is alive until it has been joined: so long it holds its stack. A
/// detached one is until it has its sum.
template <class Threads>
struct CountedThreads : Threads {
    using Threads::Threads;

    template <class Work>
    auto start(Work work) {
        census.made();
        try {
            return Threads::start(std::move(work));
        } catch (...) {
            census.ended();
            throw;
        }
    }
    void ended() noexcept {
        Threads::ended();
        census.ended();
    }
};

/// `Sum` is JoinedTree, FutureTree or DetachedThreadTree, `Threads` a source of threads derived from
/// ThreadLimit.
template <template <class> class Sum, class Threads>
struct ThreadTree : Sum<Threads> {
    using Sum<Threads>::Sum;

    static std::uint64_t count(const Inputs& inputs, Subtree root) {
        return Sum<CountedThreads<Threads>>(inputs).run(root);
    }
};

}  // namespace toll::skynet
