#include "machine_limits.hpp"
#include "smallest_stack.hpp"
#include "spawning.hpp"
#include "thread_limit.hpp"

#include <doctest/doctest.h>

#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace toll::skynet;

TEST_CASE("nodes below the root") {
    CHECK(units_below_root(1) == 0);
    CHECK(units_below_root(10) == 10);
    CHECK(units_below_root(100'000) == 111'110);
}

TEST_CASE("what is left of a limit never wraps around") {
    CHECK(left_of(1000, 2000) == 0);
    CHECK(left_of(100, 90) == 0);
    CHECK(left_of(32'000, 1000) == 32'000 - 1000 - 1000 - 64);
}

TEST_CASE("the sentence names the limit, the size that fits and the command") {
    const Limit limit{"vm.max_map_count = 65530", "sudo sysctl -w vm.max_map_count=237171", 31'700};
    const std::string text = beyond(limit, Inputs{1'000'000, 2}, "stacks").what();
    CHECK(text.find("31700 stacks") != std::string::npos);
    CHECK(text.find("tasks=1000000") != std::string::npos);
    CHECK(text.find("vm.max_map_count = 65530") != std::string::npos);
    CHECK(text.find("tasks=10000 ") != std::string::npos);  // 11,110 units; 111,110 would not fit
    CHECK(text.find("sudo sysctl -w vm.max_map_count=237171") != std::string::npos);
}

TEST_CASE("no size is said to fit that does not") {
    const auto told = [](std::uint64_t units) {
        return std::string(beyond(Limit{"a limit", "raise it", units}, Inputs{100, 2}, "threads").what());
    };
    CHECK(told(110).find("tasks=100 always fits") != std::string::npos);
    CHECK(told(10).find("tasks=10 always fits") != std::string::npos);
    CHECK(told(9).find("tasks=1 always fits") != std::string::npos);
    CHECK(told(0).find("tasks=1 always fits") != std::string::npos);
}

TEST_CASE("of a control group and those around it the one with the least room for threads counts") {
    const auto root = std::filesystem::temp_directory_path() / ("toll-pids-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root / "slice/job");
    const auto write = [&](const char* group, const char* most, const char* now) {
        std::ofstream(root / group / "pids.max") << most << '\n';
        std::ofstream(root / group / "pids.current") << now << '\n';
    };
    CHECK(pids_limit(root, "/slice/job").units == std::numeric_limits<std::uint64_t>::max());
    write("slice/job", "max", "5");
    CHECK(pids_limit(root, "/slice/job").units == std::numeric_limits<std::uint64_t>::max());
    write(".", "3200", "100");
    CHECK(pids_limit(root, "/slice/job").units == left_of(3200, 100));
    write("slice/job", "320", "5");
    const Limit job = pids_limit(root, "/slice/job");
    CHECK(job.units == left_of(320, 5));
    CHECK(job.sentence.find("/slice/job/pids.max = 320") != std::string::npos);
    write("slice", "640", "600");  // more than the job's, and less is left of it
    CHECK(pids_limit(root, "/slice/job").units == 0);
    CHECK(pids_limit(root, "/slice/job").sentence.find("/slice/pids.max = 640") != std::string::npos);
    CHECK(pids_limit(root, "").units == left_of(3200, 100));
    write("slice/job", "0", "5");
    CHECK(pids_limit(root, "/slice/job").units == 0);
    std::filesystem::remove_all(root);
}

TEST_CASE("the command raises the limit far enough for the whole tree") {
    const std::uint64_t units = units_below_root(1'000'000);
    const Limit limit = sysctl_limit("vm.max_map_count", 100, 2, "maps", units);
    REQUIRE_FALSE(limit.raise.empty());
    const std::uint64_t raised = std::stoull(limit.raise.substr(limit.raise.find('=') + 1));
    CHECK(left_of(raised, 100) / 2 >= units);
}

TEST_CASE("a limit that this kernel does not have lets everything through") {
    const Limit limit = sysctl_limit("vm.no_such_limit", 100, 2, "none", 1'000'000);
    CHECK(limit.units == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("threads are counted until they are joined") {
    ThreadLimit limit(Inputs{10, 0});
    REQUIRE(limit.room());
    limit.ended();
    CHECK_NOTHROW(limit.check());
    CHECK_THROWS_AS(ThreadLimit(Inputs{10, 2}), toll::Unsupported);
    std::uint64_t most = 0;
    while (limit.room()) { ++most; }
    CHECK(most > 0);
    CHECK_THROWS_AS(limit.check(), toll::Unsupported);
    limit.ended();
    CHECK(limit.room());
}

TEST_CASE("detached threads that told their end count until the kernel is done with them") {
    constexpr std::uint64_t fits = 40;
    DetachedThreadLimit limit(Inputs{10, 0}, Limit{"a limit", "raise it", fits});
    std::atomic<std::uint64_t> there{0};
    std::atomic<std::uint64_t> most{0};
    constexpr int threads = 200;
    std::atomic<int> told{0};
    std::atomic<int> gone{0};
    for (int i = 0; i < threads; ++i) {
        REQUIRE(limit.room());
        std::thread([&] {
            const std::uint64_t with_me = there.fetch_add(1) + 1;
            for (std::uint64_t seen = most; seen < with_me && !most.compare_exchange_weak(seen, with_me);) {}
            limit.ended();
            told.fetch_add(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            there.fetch_sub(1);
            gone.fetch_add(1);
        }).detach();
        while (told <= i) { std::this_thread::yield(); }  // else it is alive as any thread is
    }
    while (gone < threads) { std::this_thread::yield(); }
    CHECK(most <= fits);
    CHECK_NOTHROW(limit.check());
}

struct Refused : ThreadLimit {
    using ThreadLimit::ThreadLimit;
    using Unit = std::thread;
    template <class Work>
    Unit start(const Work&) {
        throw std::runtime_error("try again");
    }
};

TEST_CASE("a thread that the kernel refuses is a resource error that names the limits to look at") {
    JoinedTree<Refused> tree(Inputs{100, 0});
    std::string text;
    try {
        (void)tree.run(Subtree{0, 100});
    } catch (const std::system_error& failure) {
        CHECK(failure.code() == std::errc::resource_unavailable_try_again);
        text = failure.what();
    }
    CHECK(text.find("tasks=100 ") != std::string::npos);
    CHECK(text.find("ulimit -u") != std::string::npos);
}

TEST_CASE("the smallest stack is one that the C library takes") {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, smallest_stack_bytes()) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, smallest_stack_bytes() - 4096) != 0);
    pthread_attr_destroy(&attributes);
}

}  // namespace
