#include "pins.hpp"
#include "spawning.hpp"

#include <toll/errors.hpp>
#include <toll/threads.hpp>

#include <doctest/doctest.h>

#include <sched.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(TOLL_HAS_BOOST_ASIO)
#include "asio_workers.hpp"
#endif
#if defined(TOLL_HAS_BOOST_FIBER)
#include "boost_fiber_schedulers.hpp"
#endif
#if defined(TOLL_HAS_ONETBB)
#include "onetbb_threads.hpp"
#endif

namespace {

using namespace toll::skynet;

constexpr unsigned threads = 3;
constexpr Inputs wanted{1000, threads, Pinning::each_cpu};

/// The CPU of worker `worker`, as cpus_of_this_thread() writes it.
std::string cpu_of(unsigned worker) {
    const auto& cpus = toll::usable_cpus();
    return std::to_string(cpus[worker % cpus.size()]);
}

/// "0,1,0" on two CPUs.
std::string cpus_of(unsigned workers) {
    std::vector<int> cpus(workers);
    for (unsigned worker = 0; worker < workers; ++worker) { cpus[worker] = std::stoi(cpu_of(worker)); }
    return toll::cpu_list(cpus);
}

std::string text(const toll::Footing& footing, const std::string& name) {
    return std::get<std::string>(footing.all().at(name));
}

TEST_CASE("each worker is tied to the CPU of its number, and the caller gets its own back") {
    const std::string former = toll::cpus_of_this_thread();
    {
        Pins pins(wanted);
        CHECK(pins.wanted());
        std::vector<std::string> seen(threads);
        pins.tie_caller();
        seen[0] = toll::cpus_of_this_thread();
        for (unsigned worker = 1; worker < threads; ++worker) {
            std::thread([&, worker] {
                pins.tie(worker);
                seen[worker] = toll::cpus_of_this_thread();
            }).join();
        }
        for (unsigned worker = 0; worker < threads; ++worker) { CHECK(seen[worker] == cpu_of(worker)); }
        CHECK_NOTHROW(pins.check());
        CHECK(text(pins.footing(), "pinning") == "each_cpu");
        CHECK(text(pins.footing(), "pinned_cpus") == cpus_of(threads));
        CHECK(text(pins.footing(), "threads_per_cpu") ==
              (toll::usable_cpus().size() < threads ? "several" : "at most one"));
    }
    CHECK(toll::cpus_of_this_thread() == former);
}

TEST_CASE("with pinning=none no thread is touched and nothing is told") {
    const std::string former = toll::cpus_of_this_thread();
    Pins pins(Inputs{1000, threads});
    CHECK_FALSE(pins.wanted());
    pins.tie_caller();
    CHECK(toll::cpus_of_this_thread() == former);
    CHECK_NOTHROW(pins.check());
    CHECK(pins.footing().all().empty());
}

TEST_CASE("a worker that has not come is missed, and one too many is an error") {
    Pins pins(wanted);
    pins.tie_caller();
    CHECK_THROWS_WITH_AS(pins.check(), "pinning=each_cpu: 1 of 3 worker threads came to be tied",
                         toll::Unsupported);
    std::thread([&] { pins.tie(threads); }).join();
    CHECK_THROWS_AS(pins.check(), std::out_of_range);
}

struct NoWorkers {
    explicit NoWorkers(const Inputs&) {}
    static std::uint64_t run(Subtree) { return 0; }
};
struct ThreadEach : NoWorkers {
    using NoWorkers::NoWorkers;
    static constexpr bool thread_per_task = true;
};
struct Tied : NoWorkers {
    explicit Tied(const Inputs& inputs) : NoWorkers(inputs), pins_(inputs) {
        pins_.tie_caller();
        if (inputs.threads == 2) {
            std::thread([this] { pins_.tie(1); }).join();
        }
    }
    [[nodiscard]] const Pins& pins() const noexcept { return pins_; }
    Pins pins_;
};

/// Says itself why its threads cannot be tied.
struct SaysWhy : NoWorkers {
    using NoWorkers::NoWorkers;
    static constexpr std::string_view no_pinning = "this library ties nobody";
};

template <class T>
toll::Footing footing_of(std::string_view threads_asked, std::string_view pinning) {
    const auto parameters = Workload<T>::parameters();
    const std::vector<std::string_view> words{"tasks=10", threads_asked, pinning};
    return Workload<T>(toll::Arguments(parameters, words)).footing();
}

TEST_CASE("who has no workers refuses, and is measured as ever without") {
    CHECK_THROWS_WITH_AS(footing_of<NoWorkers>("threads=1", "pinning=each_cpu"),
                         doctest::Contains("no worker threads here"), toll::Unsupported);
    CHECK_THROWS_WITH_AS(footing_of<ThreadEach>("threads=0", "pinning=each_cpu"),
                         doctest::Contains("every task has a thread of its own"), toll::Unsupported);
    CHECK_THROWS_WITH_AS(footing_of<SaysWhy>("threads=1", "pinning=each_cpu"),
                         "this library ties nobody; ask for pinning=none", toll::Unsupported);
    CHECK(footing_of<NoWorkers>("threads=1", "pinning=none").all().count("pinned_cpus") == 0);
    CHECK_NOTHROW(footing_of<ThreadEach>("threads=0", "pinning=none"));
    CHECK_THROWS_WITH_AS(footing_of<Tied>("threads=1", "pinning=each_core"),
                         doctest::Contains("got each_core"), toll::Unsupported);
}

TEST_CASE("a footing tells where the workers are, and a worker that was not tied fails the launch") {
    CHECK(text(footing_of<Tied>("threads=2", "pinning=each_cpu"), "pinned_cpus") == cpus_of(2));
    CHECK(footing_of<Tied>("threads=2", "pinning=none").all().count("pinned_cpus") == 0);
    CHECK_THROWS_WITH_AS(footing_of<Tied>("threads=3", "pinning=each_cpu"), doctest::Contains("1 of 3"),
                         toll::Unsupported);
}

/// Work for each worker: kept until all are in it, so that each thread gets one, and asks the kernel.
class AskedEach {
public:
    void operator()() {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        const unsigned mine = inside_++;
        while (inside_ < threads && std::chrono::steady_clock::now() < give_up) { std::this_thread::yield(); }
        seen_.at(mine) = toll::cpus_of_this_thread();
    }

    /// In order, as they should be.
    static std::vector<std::string> all() {
        std::vector<std::string> cpus(threads);
        for (unsigned worker = 0; worker < threads; ++worker) { cpus[worker] = cpu_of(worker); }
        std::ranges::sort(cpus);
        return cpus;
    }
    [[nodiscard]] std::vector<std::string> seen() const {
        auto cpus = seen_;
        std::ranges::sort(cpus);
        return cpus;
    }

private:
    std::atomic<unsigned> inside_{0};
    std::vector<std::string> seen_ = std::vector<std::string>(threads);
};

#if defined(TOLL_HAS_BOOST_ASIO)
TEST_CASE("Asio's pool: each thread is tied") {
    const std::string former = toll::cpus_of_this_thread();
    AsioWorkers workers(wanted);
    AskedEach asked;
    std::vector<std::future<void>> ended(threads);
    for (auto& one : ended) {
        one = boost::asio::post(workers.pool(), boost::asio::use_future(std::ref(asked)));
    }
    for (auto& one : ended) { one.get(); }
    CHECK(asked.seen() == AskedEach::all());
    CHECK(text(workers.pins().footing(), "pinned_cpus") == cpus_of(threads));
    CHECK(toll::cpus_of_this_thread() == former);  // it waits, and runs no task
}
#endif

#if defined(TOLL_HAS_BOOST_FIBER)
TEST_CASE_TEMPLATE("Boost.Fiber: each thread of a scheduler is tied", Scheduler, WorkSharing, WorkStealing) {
    std::thread([] {  // a thread's scheduler is for good
        const std::string former = toll::cpus_of_this_thread();
        {
            const Scheduler scheduler(wanted);
            AskedEach asked;
            std::vector<boost::fibers::fiber> fibers(threads);
            for (auto& fiber : fibers) {
                fiber = boost::fibers::fiber(boost::fibers::launch::post, std::ref(asked));
            }
            for (auto& fiber : fibers) { fiber.join(); }
            CHECK(asked.seen() == AskedEach::all());
            CHECK_NOTHROW(scheduler.pins().check());
            CHECK(text(scheduler.pins().footing(), "pinned_cpus") == cpus_of(threads));
        }
        CHECK(toll::cpus_of_this_thread() == former);
    })
        .join();
}
#endif

#if defined(TOLL_HAS_ONETBB)
/// All threads of oneTBB, in another arena than the contender's; the workers among them may run anywhere
/// then.
void untie_workers() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const int cpu : toll::usable_cpus()) { CPU_SET(static_cast<std::size_t>(cpu), &all); }
    tbb::task_arena elsewhere(static_cast<int>(threads));
    AskedEach gathered;
    const auto untie = [&, caller = std::this_thread::get_id()] {
        gathered();
        if (std::this_thread::get_id() != caller) { sched_setaffinity(0, sizeof all, &all); }
    };
    elsewhere.execute([&] {
        tbb::task_group group;
        for (unsigned i = 1; i < threads; ++i) { group.run(untie); }
        group.run_and_wait(untie);
    });
}

TEST_CASE("oneTBB: whoever comes into the arena is tied, again and again") {
    const std::string former = toll::cpus_of_this_thread();
    {
        OneTbbThreads workers(wanted);
        CHECK_NOTHROW(workers.pins().check());
        CHECK(text(workers.pins().footing(), "pinned_cpus") == cpus_of(threads));
        for (int pass = 0; pass < 5; ++pass) {
            AskedEach asked;
            (void)workers.execute([&] {
                tbb::task_group group;
                for (unsigned i = 1; i < threads; ++i) { group.run(std::ref(asked)); }
                return group.run_and_wait(std::ref(asked));
            });
            CHECK(asked.seen() == AskedEach::all());
            untie_workers();
        }
    }
    CHECK(toll::cpus_of_this_thread() == former);
}
#endif

}  // namespace
