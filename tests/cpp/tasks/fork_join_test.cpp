#include "made.hpp"

#include "fib/workload.hpp"
#include "matmul/workload.hpp"
#include "nqueens/workload.hpp"
#include "shared/control_groups.hpp"
#include "shared/memory_limit.hpp"

#include <doctest/doctest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

struct Fibonacci {
    explicit Fibonacci(const toll::fib::Inputs&) {}
    std::uint64_t run(std::uint64_t n) { return n < 2 ? n : run(n - 1) + run(n - 2); }
};

struct Queens {
    explicit Queens(const toll::nqueens::Inputs&) {}
    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return from(board, 0);
    }
    template <std::size_t N>
    std::uint64_t from(toll::nqueens::Board<N> board, std::size_t placed) {
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            sum += from(board, placed + 1);
        }
        return sum;
    }
};

/// Leaves out the product of one tile where it is told so.
template <bool Complete>
struct Multiplies {
    explicit Multiplies(const toll::matmul::Inputs&) {}
    void run(const toll::matmul::Product& all) {
        if (all.size == toll::matmul::leaf) {
            if (Complete || ++leaves_ != 3) { all.multiply(); }
            return;
        }
        for (const auto& product : all.first_half()) { run(product); }
        for (const auto& product : all.second_half()) { run(product); }
    }
    unsigned leaves_ = 0;
};

}  // namespace

TEST_CASE("the answer of tasks/fib is the number, and a task is a call that forks") {
    auto workload = made<toll::fib::Workload<Fibonacci>>({"n=10"});
    CHECK(workload.run(3) == workload.expected(3));
    CHECK(workload.expected(1) == 55);
    CHECK(workload.units_per_iteration() == 88);
}

TEST_CASE("the answer of tasks/nqueens is the number of solutions, and a task is a queen that is placed") {
    auto workload = made<toll::nqueens::Workload<Queens>>({"n=6"});
    CHECK(workload.run(2) == workload.expected(2));
    CHECK(workload.expected(1) == 4);
    CHECK(workload.units_per_iteration() == 152);
}

TEST_CASE("a product of tasks/matmul from which a tile is missing is wrong") {
    auto complete = made<toll::matmul::Workload<Multiplies<true>>>({"n=64"});
    CHECK(complete.run(3) == complete.expected(3));
    CHECK(complete.units_per_iteration() == 8);
    auto incomplete = made<toll::matmul::Workload<Multiplies<false>>>({"n=64"});
    CHECK(incomplete.run(1) != incomplete.expected(1));
}

TEST_CASE("a tree that would take half of the memory is refused with what it would take") {
    const std::uint64_t bytes = toll::memory_bytes();
    CHECK(bytes > (std::uint64_t{1} << 20));
    CHECK_NOTHROW(toll::require_memory(bytes / 2 / 4096, 4096, "fibers"));
    constexpr std::uint64_t units = std::uint64_t{1} << 40;
    CHECK_THROWS_WITH_AS(
        toll::require_memory(units, 4096, "fibers, whose stacks stay"),
        "up to 1099511627776 fibers, whose stacks stay, take 4294967296 MiB, more than half of "
        "the memory here; ask for a smaller tree",
        toll::Unsupported);
}

TEST_CASE("the control group of this process is read under either version") {
    const auto file = std::filesystem::temp_directory_path() / ("toll-groups-" + std::to_string(::getpid()));
    const auto own = [&](const char* text, const char* controller) {
        std::ofstream(file) << text;
        return toll::own_control_group(controller, file);
    };
    CHECK(own("0::/user.slice/a b.scope\n", "") == "/user.slice/a b.scope");
    CHECK(own("0::/\n", "") == "");
    const char* const both = "9:name=systemd:/x\n8:cpu,pids:/a:b/c\n7:pidsother:/y\n0::/z\n";
    CHECK(own(both, "pids") == "/a:b/c");
    CHECK(own(both, "") == "/z");
    CHECK(own(both, "memory") == "");
    CHECK(own("", "") == "");
    std::filesystem::remove(file);
    CHECK(toll::own_control_group("", file) == "");
}

TEST_CASE("the least limit of a control group and of those around it counts") {
    const auto root = std::filesystem::temp_directory_path() / ("toll-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root / "slice/job");
    const auto limit = [&](const char* group, const char* text) {
        std::ofstream(root / group / "memory.max") << text << '\n';
    };
    CHECK(toll::cgroup_limit(root, "/slice/job") == 0);
    limit("slice", "1000000");
    limit("slice/job", "max");
    CHECK(toll::cgroup_limit(root, "/slice/job") == 1000000);
    CHECK(toll::cgroup_limit(root, "") == 0);
    limit("slice/job", "500");
    CHECK(toll::cgroup_limit(root, "/slice/job") == 500);
    limit(".", "300");
    CHECK(toll::cgroup_limit(root, "/slice/job") == 300);
    CHECK(toll::cgroup_limit(root, "") == 300);
    std::filesystem::remove_all(root);
}
