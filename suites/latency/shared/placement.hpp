// Where the two threads of a latency between threads run: how close two CPUs are to each other, as the kernel
// shows it under /sys (Documentation/admin-guide/cputopology.rst, ABI/stable/sysfs-devices-system-cpu).
#pragma once

#include "still_on.hpp"

#include <toll/errors.hpp>
#include <toll/offset.hpp>
#include <toll/threads.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toll::latency {

/// What two threads share, the closest first.
enum class Closeness {
    same_core,  ///< one CPU: the two take turns on it
    smt,        ///< hardware threads of one core
    cluster,    ///< cores behind one last-level cache
    far,        ///< nothing but memory
};

inline constexpr std::array<std::string_view, 4> closeness_names{"same_core", "smt", "cluster", "far"};

inline std::string_view name_of(Closeness closeness) {
    return closeness_names[static_cast<std::size_t>(closeness)];
}

/// The CPUs of a list as the kernel writes it: "0-3,8" is 0, 1, 2, 3, 8. Stops at what it cannot read.
inline std::vector<int> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        int low = 0;
        const auto first = std::from_chars(at, end, low);
        if (first.ec != std::errc{}) { break; }
        int high = low;
        at = first.ptr;
        if (at != end && *at == '-') { at = std::from_chars(at + 1, end, high).ptr; }
        for (int cpu = low; cpu <= high; ++cpu) { cpus.push_back(cpu); }
        if (at == end || *at != ',') { break; }
        ++at;
    }
    return cpus;
}

/// Which CPUs share a core or a last-level cache.
class Topology {
public:
    /// `root` has one folder a CPU; each is read when it is first asked for.
    explicit Topology(std::string root = "/sys/devices/system/cpu") : root_(std::move(root)) {}

    /// Nothing where the kernel does not show it.
    [[nodiscard]] std::optional<Closeness> closeness(int a, int b) {
        if (a == b) { return Closeness::same_core; }
        if (contains(neighbours(a).core, b)) { return Closeness::smt; }
        if (neighbours(a).last_level_cache.empty()) { return std::nullopt; }
        return contains(neighbours(a).last_level_cache, b) ? Closeness::cluster : Closeness::far;
    }

private:
    struct Neighbours {
        bool known = false;
        std::vector<int> core;              // CPUs of the same core, itself included
        std::vector<int> last_level_cache;  // CPUs behind the same last-level cache
    };

    static bool contains(const std::vector<int>& cpus, int wanted) {
        for (const int cpu : cpus) {
            if (cpu == wanted) { return true; }
        }
        return false;
    }

    const Neighbours& neighbours(int cpu) {
        if (static_cast<std::size_t>(cpu) >= known_.size()) {
            known_.resize(static_cast<std::size_t>(cpu) + 1);
        }
        Neighbours& found = known_[static_cast<std::size_t>(cpu)];
        if (!found.known) { found = read(root_ + "/cpu" + std::to_string(cpu)); }
        return found;
    }

    static Neighbours read(const std::string& folder) {
        Neighbours found{.known = true, .core = {}, .last_level_cache = {}};
        found.core = parse_cpu_list(line(folder + "/topology/core_cpus_list"));
        if (found.core.empty()) {  // its name before Linux 5.8
            found.core = parse_cpu_list(line(folder + "/topology/thread_siblings_list"));
        }
        int highest = 0;
        for (int index = 0; index < 8; ++index) {
            const std::string cache = folder + "/cache/index" + std::to_string(index);
            const auto level = parse_cpu_list(line(cache + "/level"));
            if (!level.empty() && level.front() > highest) {
                highest = level.front();
                found.last_level_cache = parse_cpu_list(line(cache + "/shared_cpu_list"));
            }
        }
        return found;
    }

    static std::string line(const std::string& path) {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                                   &std::fclose);
        std::array<char, 4096> text{};
        if (file == nullptr || std::fgets(text.data(), text.size(), file.get()) == nullptr) { return {}; }
        return text.data();
    }

    std::string root_;
    std::vector<Neighbours> known_;  // by CPU
};

/// Two CPUs for two threads.
struct Pair {
    std::array<int, 2> cpus{};
    std::string placement;  ///< a name of closeness_names, or "unknown"
};

/// The first two of `usable` that are as close as `asked`. "auto" is what most programs meet: two cores
/// behind one last-level cache, else far ones, else one core's hardware threads, else one CPU for both.
/// Throws Unsupported where no two CPUs are as close as asked, or the name means nothing.
inline Pair choose_pair(std::string_view asked, std::span<const int> usable, Topology& topology) {
    const auto first_pair = [&](Closeness wanted) -> std::optional<Pair> {
        for (std::size_t a = 0; a < usable.size(); ++a) {
            for (std::size_t b = wanted == Closeness::same_core ? a : a + 1; b < usable.size(); ++b) {
                if (topology.closeness(usable[a], usable[b]) == wanted) {
                    return Pair{{usable[a], usable[b]}, std::string(name_of(wanted))};
                }
            }
        }
        return std::nullopt;
    };
    if (asked == "auto") {
        if (usable.size() < 2) {
            return {{usable[0], usable[0]}, std::string(name_of(Closeness::same_core))};
        }
        for (const Closeness wanted : {Closeness::cluster, Closeness::far, Closeness::smt}) {
            if (const auto found = first_pair(wanted)) { return *found; }
        }
        return {{usable[0], usable[1]}, "unknown"};
    }
    static constexpr std::array<std::string_view, 4> meant{"are one", "are hardware threads of one core",
                                                           "are cores behind one last-level cache",
                                                           "have last-level caches of their own"};
    for (std::size_t index = 0; index < closeness_names.size(); ++index) {
        if (asked == closeness_names[index]) {
            if (const auto found = first_pair(static_cast<Closeness>(index))) { return *found; }
            throw Unsupported("placement=" + std::string(asked) + ": " +
                              (usable.size() < 2 ? "this process may use one CPU alone"
                                                 : "no two of the " + std::to_string(usable.size()) +
                                                       " CPUs that this process may use " +
                                                       std::string(meant[index]) + ", as far as /sys shows"));
        }
    }
    throw Unsupported("placement is auto, same_core, smt, cluster or far, got " + std::string(asked));
}

/// `usable` with one CPU of each core first, then a second one of each, and so on; within that in the order
/// of `usable`, as it is altogether where the kernel does not show the cores.
inline std::vector<int> one_per_core_first(std::span<const int> usable, Topology& topology) {
    std::vector<std::vector<int>> rounds;
    for (const int cpu : usable) {
        const auto has_a_sibling = [&](const std::vector<int>& round) {
            return std::ranges::any_of(
                round, [&](int other) { return topology.closeness(cpu, other) == Closeness::smt; });
        };
        const auto roomy = std::ranges::find_if_not(rounds, has_a_sibling);
        if (roomy == rounds.end()) {
            rounds.push_back({cpu});
        } else {
            roomy->push_back(cpu);
        }
    }
    std::vector<int> ordered;
    for (const auto& round : rounds) { ordered.insert(ordered.end(), round.begin(), round.end()); }
    return ordered;
}

/// Where several threads are tied: thread i to the i-th, so that fewer threads than cores share no core. Read
/// once a process.
inline const std::vector<int>& cpus_in_turn() {
    static const std::vector<int> cpus = [] {
        Topology topology;
        return one_per_core_first(usable_cpus(), topology);
    }();
    return cpus;
}

/// How close `cpus` are, two by two: the names of all that occur, the closest first; "same_core" for one CPU.
inline std::string closenesses(std::span<const int> cpus, Topology& topology) {
    std::array<bool, closeness_names.size()> occurs{};
    bool unknown = false;
    occurs[0] = cpus.size() == 1;
    for (std::size_t b = 1; b < cpus.size(); ++b) {
        for (const int a : cpus.first(b)) {
            const auto found = topology.closeness(a, cpus[b]);
            unknown = unknown || !found;
            if (found) { occurs[static_cast<std::size_t>(*found)] = true; }
        }
    }
    std::string names;
    const auto add = [&](std::string_view name) { names.append(names.empty() ? "" : ", ").append(name); };
    for (std::size_t index = 0; index < closeness_names.size(); ++index) {
        if (occurs[index]) { add(closeness_names[index]); }
    }
    if (unknown) { add("unknown"); }
    return names;
}

/// Throws Unsupported where the clocks of the two CPUs, "0,1", disagree by more than can be measured between
/// them.
inline void check_one_clock(const ClockOffset& offset, const std::string& cpus) {
    if (offset.agrees()) { return; }
    throw Unsupported("the clocks of CPUs " + cpus + " disagree by " + std::to_string(offset.ns) +
                      " ns: a time from one to the other means nothing");
}

/// A pair of CPUs that the calling thread and one other are tied to, as far as the kernel lets them.
class PlacedPair {
public:
    /// Ties the calling thread to the first CPU. Where the kernel refuses, "auto" leaves both threads to the
    /// scheduler; throws Unsupported where another placement was asked for, or where there is none such.
    explicit PlacedPair(std::string_view asked) {
        Topology topology;
        pair_ = choose_pair(asked, usable_cpus(), topology);
        try {
            pin_this_thread(pair_.cpus[0]);
        } catch (const Unsupported& refusal) {
            if (asked != "auto") { throw; }
            refusal_ = refusal.what();
            pair_.placement = usable_cpus().size() < 2 ? pair_.placement : "left to the scheduler";
        }
    }

    /// For the other thread.
    void pin_peer() const {
        if (refusal_.empty()) { pin_this_thread(pair_.cpus[1]); }
    }

    /// After a request; the CPUs are those that the calling thread and the other one last saw themselves on.
    /// Throws Unsupported where one is no longer where it was tied.
    void check_still_there(int seen_here, int seen_by_peer) const {
        if (!refusal_.empty()) { return; }
        check_still_on(pair_.cpus[0], seen_here);
        check_still_on(pair_.cpus[1], seen_by_peer);
    }

    [[nodiscard]] const std::string& placement() const noexcept { return pair_.placement; }
    [[nodiscard]] bool same_core() const noexcept { return pair_.cpus[0] == pair_.cpus[1]; }
    /// Whether each thread surely has a CPU of its own, so that it may poll without giving way.
    [[nodiscard]] bool apart() const noexcept { return refusal_.empty() && !same_core(); }

    /// Why threads cannot be tied; "" where they can.
    [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

    /// As a Footing's pinned_cpus.
    [[nodiscard]] std::string pinned_cpus() const {
        if (!refusal_.empty()) { return "none: " + refusal_; }
        return std::to_string(pair_.cpus[0]) + "," + std::to_string(pair_.cpus[1]);
    }

    /// What the second CPU's clock shows beyond the first's; measured once a process and pair. Where the
    /// threads are not tied there is nothing that could be measured, and the kernel's word is taken.
    /// Throws Unsupported where the two clocks disagree by more than can be measured between them.
    [[nodiscard]] ClockOffset clock_offset(const Clock& clock) const {
        if (!apart()) { return {}; }
        static ClockOffset offset;
        static std::array<int, 2> measured{-1, -1};
        if (measured != pair_.cpus) {
            offset = measure_offset(clock, pair_.cpus[0], pair_.cpus[1]);
            measured = pair_.cpus;
        }
        check_one_clock(offset, pinned_cpus());
        return offset;
    }

    /// As a Footing's clock_offset_ns.
    [[nodiscard]] std::string clock_offset_text(double offset_ns) const {
        if (same_core()) { return "0: one CPU, one clock"; }
        return apart() ? std::to_string(std::lround(offset_ns)) + ", removed" : "not measured";
    }

private:
    Pair pair_;
    std::string refusal_;  // why threads cannot be tied; empty where they can
};

}  // namespace toll::latency
