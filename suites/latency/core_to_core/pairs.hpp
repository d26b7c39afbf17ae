#pragma once

// Which pairs of logical CPUs are measured, and in which order.

#include <toll/errors.hpp>
#include <toll/layout.hpp>
#include <toll/threads.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace toll::core_to_core {

/// From one logical CPU, whose thread times, to another, whose thread answers.
struct Pair {
    int from;
    int to;
};

/// The usable CPUs that a thread can be tied to, and what is said of the others.
struct TieableCpus {
    std::vector<int> tied;
    std::string refused;  ///< "" where there are none
};

/// Tries each usable CPU with a thread of its own. Throws Unsupported where fewer than two are left.
inline TieableCpus tieable_cpus() {
    TieableCpus found;
    std::string reason;
    Crew crew(1);
    for (const int cpu : usable_cpus()) {
        try {
            crew.run([cpu](unsigned) { pin_this_thread(cpu); });
            found.tied.push_back(cpu);
        } catch (const Unsupported& refusal) {
            reason = refusal.what();
            found.refused += (found.refused.empty() ? "CPUs " : ", ") + std::to_string(cpu);
        }
    }
    if (!reason.empty()) { found.refused += ": " + reason; }
    if (found.tied.size() < 2) {
        const std::string have =
            "a pair needs two CPUs; this process can use " + std::to_string(found.tied.size());
        throw Unsupported(reason.empty() ? have : have + " (" + reason + ")");
    }
    return found;
}

/// What two CPUs share, as sysfs tells: 0 the core, 1 the outermost cache, 2 the package, 3 none of them.
class Topology {
public:
    static constexpr std::size_t classes = 4;

    explicit Topology(std::span<const int> cpus, const std::string& root = "/sys/devices/system/cpu/cpu") {
        for (const int cpu : cpus) {
            const std::string folder = root + std::to_string(cpu);
            places_.push_back({first_number(folder + "/topology/thread_siblings_list", cpu),
                               outermost_cache(folder + "/cache/index"),
                               first_number(folder + "/topology/physical_package_id", 0)});
        }
    }

    /// Of the CPUs at these two places of the list.
    [[nodiscard]] std::size_t shared(std::size_t a, std::size_t b) const {
        const auto& first = places_[a];
        const auto& second = places_[b];
        if (first[2] != second[2]) { return 3; }
        if (first[0] == second[0]) { return 0; }
        return first[1] == second[1] ? 1 : 2;
    }

private:
    /// The first CPU behind it. Which of the folders is the outermost differs: many Arm machines end at
    /// level 2.
    static int outermost_cache(const std::string& folders) {
        int highest = 0;
        int first = -1;
        for (int index = 0; index < 8; ++index) {
            const std::string folder = folders + std::to_string(index);
            const int level = first_number(folder + "/level", 0);
            if (level > highest) {
                highest = level;
                first = first_number(folder + "/shared_cpu_list", -1);
            }
        }
        return first;
    }

    static int first_number(const std::string& path, int otherwise) {
        std::ifstream file(path);
        int number = otherwise;
        return file >> number ? number : otherwise;
    }

    std::vector<std::array<int, 3>> places_;
};

/// Every ordered pair in a random order, again and again; or as many of each topology class, in turns.
class Pairs {
public:
    static constexpr std::size_t most_cpus_for_all = 64;

    /// Throws UsageError for a plan that is none of auto, all, classes.
    Pairs(const std::string& plan, std::span<const int> cpus, Random& random)
        : by_class_(plan == "classes" || (plan == "auto" && cpus.size() > most_cpus_for_all)) {
        if (plan != "auto" && plan != "all" && plan != "classes") {
            throw UsageError("pairs is auto, all or classes, not '" + plan + "'");
        }
        const Topology topology(by_class_ ? cpus : cpus.first(0));
        std::array<std::vector<Pair>, Topology::classes> groups;
        for (std::size_t from = 0; from < cpus.size(); ++from) {
            for (std::size_t to = 0; to < cpus.size(); ++to) {
                if (from == to) { continue; }
                groups[by_class_ ? topology.shared(from, to) : 0].push_back({cpus[from], cpus[to]});
            }
        }
        for (auto& group : groups) {
            if (group.empty()) { continue; }
            shuffle(group, random);
            total_ += group.size();
            groups_.push_back({std::move(group), 0});
        }
    }

    /// The next pair to visit.
    [[nodiscard]] Pair next() {
        Group& group = groups_[turn_];
        turn_ = (turn_ + 1) % groups_.size();
        const Pair pair = group.pairs[group.next];
        group.next = (group.next + 1) % group.pairs.size();
        return pair;
    }

    /// How many ordered pairs there are.
    [[nodiscard]] std::size_t size() const noexcept { return total_; }

    [[nodiscard]] std::string said() const {
        std::string all = "all " + std::to_string(total_) + " in random order";
        if (!by_class_) { return all; }
        return "a sample of " + std::to_string(total_) + ", as many of each of " +
               std::to_string(groups_.size()) + " topology classes";
    }

private:
    struct Group {
        std::vector<Pair> pairs;
        std::size_t next;
    };

    static void shuffle(std::vector<Pair>& pairs, Random& random) {
        for (std::size_t left = pairs.size(); left > 1; --left) {
            std::swap(pairs[left - 1], pairs[static_cast<std::size_t>(random.below(left))]);
        }
    }

    bool by_class_;
    std::size_t total_ = 0;
    std::vector<Group> groups_;
    std::size_t turn_ = 0;
};

}  // namespace toll::core_to_core
