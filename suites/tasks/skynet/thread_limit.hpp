#pragma once

#include "../shared/control_groups.hpp"
#include "machine_limits.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace toll::skynet {

/// The number of processes and threads that the control group `path` under `mounted` may have, or one that it
/// lies in: that which has the least room.
inline Limit pids_limit(const std::string& mounted, const std::string& path) {
    Limit least;
    each_control_group(mounted, path, [&least, none = least.units](const std::string& group) {
        const std::string file = group + "/pids.max";
        const std::uint64_t limit = number_in(file, none);
        if (limit == none) { return; }
        const std::uint64_t room = left_of(limit, number_in(group + "/pids.current", 0));
        if (room >= least.units) { return; }
        least = {file + " = " + std::to_string(limit),
                 "a larger number there (a container's --pids-limit, a unit's TasksMax)", room};
    });
    return least;
}

/// Counts the operating-system threads of a tree that are made and not yet joined, so that a tree too large
/// for this machine ends with a sentence. Costs two atomic additions a thread, which itself costs over a
/// thousand times as much.
class ThreadLimit {
public:
    static constexpr bool thread_per_task = true;

    explicit ThreadLimit(const Inputs& inputs)
        : ThreadLimit(inputs, lowest(units_below_root(inputs.tasks))) {}
    ThreadLimit(const Inputs& inputs, Limit limit) : inputs_(inputs), limit_(std::move(limit)) {
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

protected:
    [[nodiscard]] std::uint64_t most() const noexcept { return limit_.units; }

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
        // A container's, a user's or a job's own, under either version of the control groups.
        const Limit group = pids_limit("/sys/fs/cgroup", own_control_group());
        const Limit group_of_version_1 = pids_limit("/sys/fs/cgroup/pids", own_control_group("pids"));
        return std::min({maps, pids, threads, group, group_of_version_1}, fewer);
    }

    Inputs inputs_;
    Limit limit_;
    std::atomic<std::uint64_t> alive_{0};
    std::atomic<bool> exceeded_{false};
};

/// Of threads that nobody joins. One that has told its end holds its number and its stack until the kernel is
/// done with it, and there may be more of those than of the others: 1,971 of 2,801 were seen on 2 CPUs. So
/// the kernel is asked how many there are, as seldom as it can be: where those of its last answer and all
/// made since might reach the limit. Threads that ask at the same time may pass together: the limit's reserve
/// covers them.
class DetachedThreadLimit : public ThreadLimit {
public:
    explicit DetachedThreadLimit(const Inputs& inputs) : ThreadLimit(inputs) {}
    DetachedThreadLimit(const Inputs& inputs, Limit limit) : ThreadLimit(inputs, std::move(limit)) {}

    bool room() {
        if (!ThreadLimit::room()) { return false; }
        if (perhaps_there_.fetch_add(1, std::memory_order_relaxed) >= most()) { await_the_leaving(); }
        return true;
    }

private:
    /// Those that are not leaving are below the limit, so that it ends, unless others than the tree make
    /// threads: then pthread_create has the last word.
    void await_the_leaving() {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        std::uint64_t there = made_here();
        while (there >= most() && std::chrono::steady_clock::now() < give_up) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            there = made_here();
        }
        perhaps_there_.store(there + 1, std::memory_order_relaxed);
    }

    /// Threads of this process beyond those that it had before the tree.
    [[nodiscard]] std::uint64_t made_here() const {
        const std::uint64_t now = threads_of_process();
        return now > before_ ? now - before_ : 0;
    }
    static std::uint64_t threads_of_process() {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            std::uint64_t threads = 0;
            if (word == "Threads:" && status >> threads) { return threads; }
        }
        return 0;
    }

    std::uint64_t before_ = threads_of_process();
    std::atomic<std::uint64_t> perhaps_there_{0};
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
