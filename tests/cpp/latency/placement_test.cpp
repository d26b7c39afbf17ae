#include "shared/placement.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace toll::latency;

/// A folder as /sys/devices/system/cpu, for machines that this one is not.
class MadeMachine {
public:
    MadeMachine() {
        std::string name = (fs::temp_directory_path() / "toll-cpus-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
    }
    MadeMachine(const MadeMachine&) = delete;
    MadeMachine& operator=(const MadeMachine&) = delete;
    ~MadeMachine() { fs::remove_all(root_); }

    /// `core` and `cache` as the kernel writes lists; "" leaves the file out.
    void add(int cpu, const std::string& core, const std::string& cache,
             const std::string& core_file = "core_cpus_list") const {
        const fs::path folder = root_ / ("cpu" + std::to_string(cpu));
        fs::create_directories(folder / "topology");
        fs::create_directories(folder / "cache/index0");
        fs::create_directories(folder / "cache/index3");
        if (!core.empty()) { std::ofstream(folder / "topology" / core_file) << core << "\n"; }
        if (cache.empty()) { return; }
        std::ofstream(folder / "cache/index0/level") << "1\n";
        std::ofstream(folder / "cache/index0/shared_cpu_list") << cpu << "\n";
        std::ofstream(folder / "cache/index3/level") << "3\n";
        std::ofstream(folder / "cache/index3/shared_cpu_list") << cache << "\n";
    }
    [[nodiscard]] std::string root() const { return root_.string(); }

private:
    fs::path root_;
};

/// Two complexes of two cores with two threads each, numbered as the document's Ryzen: siblings side by side.
void add_ryzen(const MadeMachine& machine) {
    for (int cpu = 0; cpu < 8; ++cpu) {
        const int even = cpu / 2 * 2;
        machine.add(cpu, std::to_string(even) + "-" + std::to_string(even + 1), cpu < 4 ? "0-3" : "4-7");
    }
}

std::string chosen(const std::string& asked, const std::vector<int>& usable, const MadeMachine& machine) {
    Topology topology(machine.root());
    const Pair pair = choose_pair(asked, usable, topology);
    return pair.placement + " " + std::to_string(pair.cpus[0]) + "," + std::to_string(pair.cpus[1]);
}

}  // namespace

TEST_CASE("a list of CPUs as the kernel writes it") {
    CHECK(parse_cpu_list("0-3,8\n") == std::vector{0, 1, 2, 3, 8});
    CHECK(parse_cpu_list("5").size() == 1);
    CHECK(parse_cpu_list("").empty());
    CHECK(parse_cpu_list("none").empty());
    CHECK(parse_cpu_list("1,x") == std::vector{1});
}

TEST_CASE("two CPUs as close as asked") {
    const MadeMachine machine;
    add_ryzen(machine);
    std::vector<int> all(8);
    std::iota(all.begin(), all.end(), 0);
    CHECK(chosen("same_core", all, machine) == "same_core 0,0");
    CHECK(chosen("smt", all, machine) == "smt 0,1");
    CHECK(chosen("cluster", all, machine) == "cluster 0,2");
    CHECK(chosen("far", all, machine) == "far 0,4");
    CHECK(chosen("auto", all, machine) == "cluster 0,2");
}

TEST_CASE("CPUs that are offline or not allowed are not chosen") {
    const MadeMachine machine;
    add_ryzen(machine);
    CHECK(chosen("auto", {1, 5, 6}, machine) == "cluster 5,6");
    CHECK(chosen("auto", {1, 6}, machine) == "far 1,6");
    CHECK(chosen("auto", {6, 7}, machine) == "smt 6,7");
    CHECK(chosen("auto", {5}, machine) == "same_core 5,5");
    CHECK_THROWS_WITH_AS(chosen("far", {0, 2}, machine), doctest::Contains("last-level caches of their own"),
                         toll::Unsupported);
    CHECK_THROWS_WITH_AS(chosen("smt", {3}, machine), doctest::Contains("one CPU alone"), toll::Unsupported);
    CHECK_THROWS_WITH_AS(chosen("near", {0, 1}, machine), doctest::Contains("got near"), toll::Unsupported);
}

TEST_CASE("one CPU of each core comes first, then the cores' other hardware threads") {
    const MadeMachine siblings_beside;
    add_ryzen(siblings_beside);
    Topology ryzen(siblings_beside.root());
    CHECK(one_per_core_first(std::vector{0, 1, 2, 3, 4, 5, 6, 7}, ryzen) ==
          std::vector{0, 2, 4, 6, 1, 3, 5, 7});
    CHECK(one_per_core_first(std::vector{1, 2, 3, 6}, ryzen) == std::vector{1, 2, 6, 3});

    const MadeMachine siblings_far;  // numbered as most of Intel's: 0 and 4 are one core
    for (int cpu = 0; cpu < 8; ++cpu) {
        siblings_far.add(cpu, std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4), "0-7");
    }
    Topology intel(siblings_far.root());
    CHECK(one_per_core_first(std::vector{0, 1, 2, 3, 4, 5, 6, 7}, intel) ==
          std::vector{0, 1, 2, 3, 4, 5, 6, 7});

    const MadeMachine four_a_core;
    for (int cpu = 0; cpu < 8; ++cpu) { four_a_core.add(cpu, cpu < 4 ? "0-3" : "4-7", "0-7"); }
    Topology power(four_a_core.root());
    CHECK(one_per_core_first(std::vector{0, 1, 2, 3, 4, 5, 6, 7}, power) ==
          std::vector{0, 4, 1, 5, 2, 6, 3, 7});

    const MadeMachine silent;
    Topology unknown(silent.root());
    CHECK(one_per_core_first(std::vector{2, 3, 5}, unknown) == std::vector{2, 3, 5});
}

TEST_CASE("how close several CPUs are, in words") {
    const MadeMachine machine;
    add_ryzen(machine);
    Topology topology(machine.root());
    CHECK(closenesses(std::vector{3}, topology) == "same_core");
    CHECK(closenesses(std::vector{0, 2}, topology) == "cluster");
    CHECK(closenesses(std::vector{0, 2, 4}, topology) == "cluster, far");
    CHECK(closenesses(std::vector{0, 2, 1}, topology) == "smt, cluster");
    const MadeMachine silent;
    Topology unknown(silent.root());
    CHECK(closenesses(std::vector{0, 1}, unknown) == "unknown");
}

TEST_CASE("kernels that show less") {
    const MadeMachine old;  // before Linux 5.8
    old.add(0, "0-1", "0-1", "thread_siblings_list");
    CHECK(chosen("smt", {0, 1}, old) == "smt 0,1");
    const MadeMachine silent;
    CHECK(chosen("auto", {2, 3}, silent) == "unknown 2,3");
    CHECK_THROWS_AS(chosen("cluster", {2, 3}, silent), toll::Unsupported);
}
