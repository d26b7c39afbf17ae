// Threads that start together, and where they may run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace toll {

/// The CPUs that this process could run on when it started, ascending (sched_getaffinity). Tying a
/// thread to a CPU later does not change the answer, so a contender made anew sees the same machine.
[[nodiscard]] const std::vector<int>& usable_cpus();

/// Ties the calling thread to one CPU, and asks the kernel whether it is. Throws Unsupported where it
/// refuses, or accepts and does not.
void pin_this_thread(int cpu);

/// The CPUs that the calling thread may run on, as "0,1".
[[nodiscard]] std::string cpus_of_this_thread();

/// As a Footing's pinned_cpus, in this order: "0,2,4-7"; how many more there are where it would be too long.
[[nodiscard]] std::string cpu_list(std::span<const int> cpus);

/// Ties the calling thread to `cpu` as long as it lives, then gives it back its former CPUs.
class PinnedHere {
public:
    explicit PinnedHere(int cpu);
    ~PinnedHere();
    PinnedHere(const PinnedHere&) = delete;
    PinnedHere& operator=(const PinnedHere&) = delete;

private:
    std::vector<int> former_;
};

/// The calling thread may run on all of `usable_cpus()` as long as this lives, then has its former CPUs
/// again: for what makes threads of its own, which inherit them. Throws Unsupported where the kernel refuses.
class UntiedHere {
public:
    UntiedHere();
    ~UntiedHere();
    UntiedHere(const UntiedHere&) = delete;
    UntiedHere& operator=(const UntiedHere&) = delete;

private:
    std::vector<int> former_;
};

/// Threads that are made once and then do one piece of work after another, leaving a barrier
/// together each time, so that a timed group holds no thread creation.
class Crew {
public:
    using Work = std::function<void(unsigned member)>;

    /// Starts `members` threads; member i is tied to pins[i % pins.size()] where `pins` has any.
    /// Throws std::system_error where a thread cannot be made, Unsupported where it cannot be tied.
    explicit Crew(unsigned members, std::span<const int> pins = {});
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Runs work(0) ... work(members - 1), one in each thread, and returns when all have returned.
    /// No member begins before all are ready. Throws again what the first member threw.
    void run(const Work& work);

    [[nodiscard]] unsigned members() const noexcept;
    /// How many members have reached the barrier of the present or last run().
    [[nodiscard]] unsigned arrived() const;

private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

}  // namespace toll
