#include "../few_threads.hpp"
#include "baselines.hpp"
#include "pools.hpp"
#include "std_mutex.hpp"
#include "workload.hpp"

#include <doctest/doctest.h>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <variant>

namespace {

using toll::cachecalc::Inputs;
using toll::cachecalc::Load;
using toll::cachecalc::Sleep;

void step(Load& load, std::uint64_t task) {
    load.compute();
    load.wait_begins(task);
    Sleep{}(load.wait());
    load.wait_ended(task);
    load.compute();
}

struct InTurn {
    explicit InTurn(const Inputs&) {}
    static void run(Load& load) {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) { step(load, task); }
    }
};

/// Two computations begin with the same data and one overwrites the other: what a missing lock leaves behind,
/// here without the luck that a real race needs.
struct NotSerialized {
    explicit NotSerialized(const Inputs&) {}
    static void run(Load& load) {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            const toll::cachecalc::Cache seen_by_other = load.cache();
            step(load, task);
            if (task + 1 == load.tasks()) {
                load.cache() = seen_by_other;
                load.compute();
            }
        }
    }
};

struct DropsATask {
    explicit DropsATask(const Inputs&) {}
    static void run(Load& load) {
        for (std::uint64_t task = 0; task + 1 < load.tasks(); ++task) { step(load, task); }
    }
};

struct RunsATaskTwice {
    explicit RunsATaskTwice(const Inputs&) {}
    static void run(Load& load) {
        InTurn::run(load);
        step(load, 0);
    }
};

struct WaitsTooShort {
    explicit WaitsTooShort(const Inputs&) {}
    static void run(Load& load) {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.compute();
            load.wait_begins(task);
            Sleep{}(load.wait() / (task == 16 ? 2 : 1));
            load.wait_ended(task);
            load.compute();
        }
    }
};

/// What a framework's author forgets first: one of the two calls around the wait.
template <bool begins>
struct StampsOneEnd {
    explicit StampsOneEnd(const Inputs&) {}
    static void run(Load& load) {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.compute();
            if (begins || task != 32) { load.wait_begins(task); }
            Sleep{}(load.wait());
            if (!begins || task != 32) { load.wait_ended(task); }
            load.compute();
        }
    }
};

/// Runs its iterations in a thread of its own; `adds` computations too many in each.
template <int adds>
struct Inside {
    explicit Inside(const Inputs&) {}
    void run(Load& load) {
        ran_inside = ran_inside && std::this_thread::get_id() == own;
        InTurn::run(load);
        for (int i = 0; i < adds; ++i) { load.compute(); }
    }
    template <class All>
    void inside(All& all) {
        std::exception_ptr thrown;
        std::thread thread([&] {
            own = std::this_thread::get_id();
            try {
                all();
            } catch (...) { thrown = std::current_exception(); }
        });
        thread.join();
        if (thrown) { std::rethrow_exception(thrown); }
    }
    toll::Footing footing() const { return {{"ran_inside", ran_inside ? "yes" : "no"}}; }

    std::thread::id own;
    bool ran_inside = true;
};

/// A cache for each of three shards; `skips` tasks of the last are forgotten and done on the first, `halves`
/// of them compute once.
template <std::uint64_t skips, std::uint64_t halves = 0>
struct Sharded {
    explicit Sharded(const Inputs&) {}
    static unsigned shards(const Inputs&) { return 3; }
    static void run(Load& load) {
        for (unsigned shard = 0; shard < 3; ++shard) {
            const std::uint64_t first = load.first_task_of(shard);
            for (std::uint64_t task = first; task < first + load.tasks_of(shard); ++task) {
                toll::cachecalc::Cache& cache = load.cache(task + skips < load.tasks() ? shard : 0);
                cache.compute();
                load.wait_begins(task);
                Sleep{}(load.wait());
                load.wait_ended(task);
                if (task + halves < load.tasks()) { cache.compute(); }
            }
        }
    }
};

template <class F>
std::unique_ptr<toll::cachecalc::Workload<F>> made(std::uint64_t tasks, std::uint64_t wait_us,
                                                   const char* threads = "threads=4") {
    const std::string tasks_word = "tasks=" + std::to_string(tasks);
    const std::string wait_word = "wait_us=" + std::to_string(wait_us);
    const std::array<std::string_view, 3> words{tasks_word, wait_word, threads};
    using Workload = toll::cachecalc::Workload<F>;
    return std::make_unique<Workload>(toll::Arguments(Workload::parameters(), words));
}

/// Asked after the run, as the protocol does: in one comparison it may be asked before.
template <class F>
void check_answer(toll::cachecalc::Workload<F>& workload, std::uint64_t iterations) {
    const toll::Checksum answer = workload.run(iterations);
    CHECK(answer == workload.expected(iterations));
}

template <class F>
toll::Details answered(std::uint64_t tasks, std::uint64_t wait_us = 0, const char* threads = "threads=4") {
    const auto workload = made<F>(tasks, wait_us, threads);
    check_answer(*workload, 3);
    return workload->details();
}

template <class F>
void check_void(std::uint64_t tasks, std::uint64_t wait_us) {
    const auto workload = made<F>(tasks, wait_us);
    CHECK_THROWS_AS(workload->run(1), toll::WrongAnswer);
}

}  // namespace

TEST_CASE("a framework that loses an update, or a task, or does one twice, has no time") {
    CHECK_NOTHROW(answered<InTurn>(40));
    check_void<NotSerialized>(40, 0);
    check_void<DropsATask>(40, 0);
    check_void<RunsATaskTwice>(40, 0);
}

TEST_CASE("a framework whose task waits half as long as it was asked has no time") {
    const auto told = answered<InTurn>(33, 2'000);
    CHECK(told.at("wait_median_us") >= 2'000 * 0.98);
    CHECK(told.at("wait_longest_us") >= told.at("wait_median_us"));
    // Where the machine is busy, half a wait may last as long as a whole one: tried until it does not.
    bool seen = false;
    for (int attempt = 0; attempt < 100 && !seen; ++attempt) {
        try {
            (void)made<WaitsTooShort>(33, 2'000)->run(1);
        } catch (const toll::WrongAnswer&) { seen = true; }
    }
    CHECK(seen);
}

TEST_CASE("a wait that is not told from both ends has no time") {
    check_void<StampsOneEnd<true>>(33, 100);
    check_void<StampsOneEnd<false>>(33, 100);
    check_void<StampsOneEnd<true>>(33, 0);
    check_void<StampsOneEnd<false>>(33, 0);
}

TEST_CASE("a framework may run its iterations in a thread of its own, and is held to the same") {
    const auto workload = made<Inside<0>>(20, 0);
    check_answer(*workload, 3);
    CHECK(std::get<std::string>(workload->footing().all().at("ran_inside")) == "yes");
    check_void<Inside<1>>(20, 0);
}

TEST_CASE("each shard holds its own share of the tasks") {
    CHECK_NOTHROW(answered<Sharded<0>>(40));
    CHECK_NOTHROW(answered<Sharded<0>>(3));
    check_void<Sharded<1>>(40, 0);
    // What goes wrong beside the first shard alone is seen after the clock has stopped.
    const auto loses = made<Sharded<0, 1>>(40, 0);
    CHECK_NOTHROW(loses->run(3));
    CHECK_THROWS_AS((void)loses->expected(3), toll::WrongAnswer);
    const auto again = made<Sharded<0>>(40, 0);
    for (const std::uint64_t iterations : {3U, 1U, 2U}) {
        again->before_batch();  // not timed: there the maps beside the first one are made anew
        check_answer(*again, iterations);
    }
}

TEST_CASE("threads, pools and their queues do every task once") {
    using toll::cachecalc::Posted;
    CHECK_NOTHROW(answered<toll::cachecalc::Threads<Sleep>>(203, 8));
    CHECK_NOTHROW(answered<toll::cachecalc::Threads<toll::cachecalc::ReadDevZero>>(200, 8));
    CHECK_NOTHROW((answered<Posted<toll::cachecalc::SimplePool, Sleep>>(200, 8)));
    CHECK_NOTHROW((answered<Posted<toll::cachecalc::StopTokenPool, Sleep>>(200, 8)));
}

TEST_CASE("a pool for which a thread is missing says so, and lets go of those that it has") {
    for (const int made : {0, 1, 2}) {
        CAPTURE(made);
        toll_test::threads_left = made;
        CHECK_THROWS_AS(toll::cachecalc::SimplePool(3), std::system_error);
        toll_test::threads_left = made;
        CHECK_THROWS_AS(toll::cachecalc::StopTokenPool(3), std::system_error);
    }
    toll_test::threads_left = toll_test::any_number;
}

TEST_CASE("a baseline that only waits computes nothing, and its waits are told") {
    using Waits = toll::cachecalc::WaitOnly<Sleep>;
    CHECK_THROWS_WITH_AS(made<Waits>(20, 100), doctest::Contains("threads=1"), toll::Unsupported);
    const auto told = answered<Waits>(20, 100, "threads=1");
    CHECK(told.at("wait_median_us") >= 98);
}
