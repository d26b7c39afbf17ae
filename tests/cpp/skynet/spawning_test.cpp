#include "spawning.hpp"
#include "detached_threads.hpp"
#include "openmp_tree.hpp"
#include "thread_limit.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <queue>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace toll::skynet;

/// Runs each unit at once, counts them, and fails where a test wants it to.
struct Counting {
    explicit Counting(const Inputs&) {}

    bool room() {
        if (started < most) { return true; }
        refused = true;
        return false;
    }
    void ended() { ++joined; }
    static void check() {
        if (refused) { throw toll::Unsupported("no room"); }
    }
    static void begin() {
        if (++started == fails_at) { throw std::runtime_error("no thread"); }
    }
    static void reset() {
        started = joined = fails_at = 0;
        most = ~std::uint64_t{0};
        refused = false;
    }

    static inline std::uint64_t started, joined, fails_at, most;
    static inline bool refused;
};

struct CountingJoin : Counting {
    using Counting::Counting;
    struct Unit {
        static void join() {}
    };
    template <class Work>
    Unit start(Work work) {
        begin();
        work();
        return {};
    }
};

struct CountingFuture : Counting {
    using Counting::Counting;
    struct Unit {
        [[nodiscard]] std::uint64_t get() const { return value; }
        std::uint64_t value = 0;
    };
    template <class Work>
    Unit start(Work work) {
        begin();
        return {work()};
    }
};

struct CountingDetach : Counting {
    using Counting::Counting;
    template <class Work>
    void start(Work work) {
        begin();
        work();
    }
};

struct DetachedThreads : ThreadLimit {
    using ThreadLimit::ThreadLimit;
    template <class Work>
    void start(Work work) {
        std::thread(std::move(work)).detach();
    }
};

struct Channel {
    explicit Channel(std::size_t) {}
    void push(std::uint64_t value) { values.push(value); }
    std::uint64_t value_pop() {
        REQUIRE_FALSE(values.empty());
        const std::uint64_t value = values.front();
        values.pop();
        return value;
    }
    std::queue<std::uint64_t> values;
};

using Join = JoinedTree<CountingJoin>;
using Future = FutureTree<CountingFuture>;
using Detach = DetachedTree<CountingDetach, Channel>;

constexpr Subtree root(std::uint64_t tasks) {
    return {0, tasks};
}

TEST_CASE_TEMPLATE("a tree makes one unit a node below the root and sums the leaves", T, Join, Future,
                   Detach) {
    for (const std::uint64_t tasks : {1U, 10U, 100U, 1000U}) {
        Counting::reset();
        T tree(Inputs{tasks, 1});
        CHECK(tree.run(root(tasks)) == tasks * (tasks - 1) / 2);
        CHECK(Counting::started == units_below_root(tasks));
    }
}

TEST_CASE_TEMPLATE("a tree that exceeds a limit ends with the limit's sentence", T, Join, Future, Detach) {
    Counting::reset();
    Counting::most = 57;
    T tree(Inputs{1000, 1});
    CHECK_THROWS_AS(tree.run(root(1000)), toll::Unsupported);
    CHECK(Counting::started == 57);
    Counting::reset();
    CHECK(tree.run(root(1000)) == 499'500);
}

TEST_CASE("threads that nobody joins answer again and again, and are counted until they send") {
    using Tree = ThreadTree<DetachedThreadTree, DetachedThreads>;
    Tree tree(Inputs{100, 0});
    for (int pass = 0; pass < 50; ++pass) { REQUIRE(tree.run(root(100)) == 4950); }
    census.reset();
    CHECK(Tree::count(Inputs{100, 0}, root(100)) == 4950);
    CHECK(std::get<std::int64_t>(census.footing().all().at("units_created")) == 110);
}

TEST_CASE("a channel between threads keeps the order, and lets no more in than it holds") {
    ThreadChannel channel{2};
    std::atomic<int> pushed{0};
    std::thread sender([&] {
        for (std::uint64_t value = 0; value < 100; ++value) {
            channel.push(value);
            ++pushed;
        }
    });
    bool in_order = true;
    int most = 0;
    for (std::uint64_t value = 0; value < 100; ++value) {
        while (pushed < std::min(100, static_cast<int>(value) + 2)) { std::this_thread::yield(); }
        most = std::max(most, pushed - static_cast<int>(value));
        in_order = in_order && channel.value_pop() == value;
    }
    sender.join();
    CHECK(in_order);
    CHECK(most == 2);
}

TEST_CASE_TEMPLATE("a unit that cannot be made fails the tree after all others ended", T, Join, Future,
                   Detach) {
    Counting::reset();
    Counting::fails_at = 23;
    T tree(Inputs{100, 1});
    CHECK_THROWS_WITH_AS(tree.run(root(100)), "no thread", std::runtime_error);
    if (!std::is_same_v<T, Detach>) { CHECK(Counting::joined == Counting::started - 1); }
    Counting::reset();
    CHECK(tree.run(root(100)) == 4950);
}

TEST_CASE("the first failure of many threads is kept, once") {
    FirstFailure failure;
    {
        std::jthread one([&] { failure.keep(std::make_exception_ptr(std::runtime_error("a unit"))); });
        std::jthread two([&] { failure.keep(std::make_exception_ptr(std::runtime_error("a unit"))); });
    }
    CHECK_THROWS_WITH_AS(failure.rethrow(), "a unit", std::runtime_error);
    CHECK_NOTHROW(failure.rethrow());
}

struct Plain {
    explicit Plain(const Inputs&) {}
    static std::uint64_t run(Subtree) { return 0; }
};
struct Knowing : Plain {
    using Plain::Plain;
    [[nodiscard]] static toll::Footing footing() { return {{"units_created", 7}, {"stack_bytes", 16384}}; }
};

template <class T>
Workload<T> made(std::string_view tasks, std::string_view threads) {
    const auto parameters = Workload<T>::parameters();
    const std::vector<std::string_view> words{tasks, threads};
    return Workload<T>(toll::Arguments(parameters, words));
}

template <class T>
toll::Footing footing_of() {
    return made<T>("tasks=1000", "threads=2").footing();
}

TEST_CASE("the footing counts the units, unless the contender knows better") {
    const auto plain = footing_of<Plain>().all();
    CHECK(std::get<std::int64_t>(plain.at("units_created")) == 1110);
    CHECK(std::get<std::int64_t>(plain.at("threads")) == 2);
    const auto knowing = footing_of<Knowing>().all();
    CHECK(std::get<std::int64_t>(knowing.at("units_created")) == 7);
    CHECK(std::get<std::int64_t>(knowing.at("stack_bytes")) == 16384);
}

/// Ten units a node in two steps: seven are alive at once, and three run in their parent.
struct Tallied : Plain {
    using Plain::Plain;
    static std::uint64_t count(const Inputs& inputs, Subtree root) {
        CHECK(root.size == inputs.tasks);
        {
            std::vector<Counted> units(4);
            std::vector<Counted> others(3);
            const Counted moved = std::move(others.front());
        }
        const Counted last;
        for (int i = 0; i < 3; ++i) { Counted::ran_inline(); }
        return sum;
    }
    static inline std::uint64_t sum = 499'500;
};

TEST_CASE("the runner's wish to count units is heard, and a wrong sum is not") {
    CHECK(footing_of<Tallied>().all().count("units_alive_peak") == 0);
    setenv("TOLL_UNITS", "1", 1);
    const auto counted = footing_of<Tallied>().all();
    CHECK(std::get<std::int64_t>(counted.at("units_created")) == 8);
    CHECK(std::get<std::int64_t>(counted.at("units_inline")) == 3);
    CHECK(std::get<std::int64_t>(counted.at("units_alive_peak")) == 7);
    Tallied::sum = 7;
    CHECK_THROWS_AS(footing_of<Tallied>(), toll::WrongAnswer);
    unsetenv("TOLL_UNITS");
}

struct Threads : ThreadLimit {
    using ThreadLimit::ThreadLimit;
    using Unit = std::thread;
    template <class Work>
    Unit start(Work work) {
        return std::thread(std::move(work));
    }
};

TEST_CASE("threads are alive from their making to their join") {
    census.reset();
    CHECK(ThreadTree<JoinedTree, Threads>::count(Inputs{100, 0}, root(100)) == 4950);
    const auto counted = census.footing().all();
    CHECK(std::get<std::int64_t>(counted.at("units_created")) == 110);
    const auto peak = std::get<std::int64_t>(counted.at("units_alive_peak"));
    CHECK(peak >= 11);  // a parent waits for the first of its ten while it has made all
    CHECK(peak <= 110);
    census.made();
    const auto none_is_left = std::get<std::int64_t>(census.footing().all().at("units_alive_peak"));
    CHECK(none_is_left == peak);
}

TEST_CASE("a task that OpenMP runs in its parent is no unit") {
    census.reset();
    CHECK(CountedOpenMpSum::of(root(100)) == 4950);  // without a team every task is run at once
    const auto counted = census.footing().all();
    CHECK(std::get<std::int64_t>(counted.at("units_created")) == 0);
    CHECK(std::get<std::int64_t>(counted.at("units_inline")) == 110);
}

struct OwnThreads : Plain {
    using Plain::Plain;
    static constexpr bool thread_per_task = true;
};

TEST_CASE("threads=0 is for contenders that make a thread for each task, and no number wraps around") {
    CHECK_THROWS_AS(made<Plain>("tasks=10", "threads=0"), toll::Unsupported);
    CHECK_NOTHROW(made<OwnThreads>("tasks=10", "threads=0"));
    CHECK_THROWS_AS(made<OwnThreads>("tasks=10", "threads=4294967296"), toll::UsageError);
    CHECK_THROWS_AS(made<Plain>("tasks=10000000000", "threads=1"), toll::UsageError);
}

/// Tells the compiler that equal trees have equal sums, and counts how often it is really asked.
struct SeenThrough : Plain {
    using Plain::Plain;
    [[gnu::const, gnu::noinline]] static std::uint64_t run(Subtree root) {
        asked = asked + 1;
        return root.size;
    }
    static inline volatile std::uint64_t asked = 0;
};

TEST_CASE("every iteration is run, also where a compiler could take one sum for all") {
    SeenThrough::asked = 0;
    CHECK(made<SeenThrough>("tasks=10", "threads=1").run(7) == 70);
    CHECK(SeenThrough::asked == 7);
}

}  // namespace
