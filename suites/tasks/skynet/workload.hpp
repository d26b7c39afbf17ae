#pragma once

// tasks/skynet: a root spawns 10 tasks, each spawns 10 more, until `tasks` leaves exist. Leaves return their
// ordinal numbers, which are summed level by level; the root's sum is the answer.
// Source: Alexander Temerev's skynet micro-benchmark (github.com/atemerev/skynet), as ported by Boost.Fiber.

#include "census.hpp"

#include <toll/contender.hpp>
#include <toll/keep.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace toll::skynet {

/// Children of every task that is not a leaf.
inline constexpr std::uint64_t children = 10;

/// Where the threads that run the tasks may themselves run.
enum class Pinning {
    none,      ///< wherever the kernel puts them
    each_cpu,  ///< thread i on the i-th CPU that the process may use
};

inline constexpr std::array<std::string_view, 2> pinning_names{"none", "each_cpu"};

[[nodiscard]] inline std::string name_of(Pinning pinning) {
    return std::string(pinning_names[static_cast<std::size_t>(pinning)]);
}

[[nodiscard]] inline Pinning pinning_of(std::string_view written) {
    for (const Pinning pinning : {Pinning::none, Pinning::each_cpu}) {
        if (written == name_of(pinning)) { return pinning; }
    }
    throw Unsupported("pinning is none or each_cpu, got " + std::string(written));
}

struct Inputs {
    std::uint64_t tasks;  ///< leaves of the tree, a power of `children`
    unsigned threads;     ///< operating-system threads that run the tasks; 0: one for each task
    Pinning pinning = Pinning::none;
};

/// One task's subtree: the leaves `ordinal` up to, not including, `ordinal + size`.
struct Subtree {
    std::uint64_t ordinal;
    std::uint64_t size;

    [[nodiscard]] bool is_leaf() const noexcept { return size == 1; }
    [[nodiscard]] Subtree child(std::uint64_t index) const noexcept {
        return {ordinal + index * (size / children), size / children};
    }
};

/// One sum for each child of a node.
using Sums = std::array<std::uint64_t, children>;

[[nodiscard]] inline std::uint64_t total(const Sums& sums) noexcept {
    return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

/// Nodes below the root of a tree with `tasks` leaves: 10 + 100 + ... + tasks.
[[nodiscard]] constexpr std::uint64_t units_below_root(std::uint64_t tasks) noexcept {
    std::uint64_t units = 0;
    for (; tasks > 1; tasks /= children) { units += tasks; }
    return units;
}

/// What a contender models: made once with its schedulers and pools, then asked again and again.
///  - `run` spawns one task for every node below the root and returns the root's sum once all have ended;
///  - `count(inputs, root)` (optional, static): the same tree once more, with its units told to `census`;
///  - `footing()` (optional): what the contender knows better, laid over the workload's own: `units_created`
///    where it is not one for each node below the root, `stack_bytes` where it was chosen at set-up;
///  - `pins()` (optional): the Pins that each of its workers was tied by while it was made. Who offers none
///    is refused with pinning=each_cpu;
///  - `no_pinning` (optional): why there are none, the beginning of a sentence;
///  - `units_vary` (optional): true where how many units there are is known only once they are counted;
///  - `once_per_process` (optional): true for a library that cannot be set up twice in one process;
///  - `thread_per_task` (optional): true where threads=0 is what it takes. All others get 1 thread or more.
template <class T>
concept Tree = std::constructible_from<T, const Inputs&> && requires(T tree, Subtree root) {
    { tree.run(root) } -> std::same_as<std::uint64_t>;
};

template <Tree T>
class Workload {
public:
    static constexpr WorkloadInfo info{"tasks/skynet", Kind::batch, "ns", "task"};
    static constexpr bool once_per_process = requires { requires T::once_per_process; };

    static std::vector<Parameter> parameters() {
        return {{"tasks", "100000", "leaf tasks", "leaves of the tree, a power of 10"},
                {"threads", "cpus", "threads",
                 "operating-system threads that run the tasks; 0: one for each task, or as many as the "
                 "runtime chooses"},
                {"pinning", "none", "",
                 "none: the kernel places the threads; each_cpu: thread i is tied to the i-th CPU that the "
                 "process may use, from the first again where CPUs are fewer"}};
    }

    explicit Workload(const Arguments& arguments)
        : inputs_{arguments.number("tasks", 1, most_tasks),
                  static_cast<unsigned>(arguments.number("threads", 0, most_threads)),
                  pinning_of(arguments.text("pinning"))},
          tree_{checked(inputs_)} {
        if constexpr (can_pin) { tree_.pins().check(); }
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return inputs_.tasks; }

    Checksum run(std::uint64_t iterations) {
        Checksum sum{0};
        for (std::uint64_t i = 0; i < iterations; ++i) {
            Subtree root{0, inputs_.tasks};
            keep_changed(root);  // else a compiler that sees through a contender sums once and multiplies
            sum += tree_.run(root);
        }
        return sum;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * (inputs_.tasks * (inputs_.tasks - 1) / 2);
    }

    /// `units_created`: concurrency units (threads, fibers, tasks) that one iteration makes, as the tree's
    /// shape fixes it. Where TOLL_UNITS asks, one iteration is counted, and the footing says how many were
    /// made, how many nodes ran in their parent instead, and how many units were alive at most.
    [[nodiscard]] Footing footing() const {
        Footing footing;
        if (inputs_.threads == 0) {
            footing.set({"threads", "one for each task"});
        } else {
            footing.set({"threads", inputs_.threads});
        }
        if constexpr (!requires { requires T::units_vary; }) {
            footing.set({"units_created", units_below_root(inputs_.tasks)});
        }
        if constexpr (requires { tree_.footing(); }) { lay_over(footing, tree_.footing()); }
        if constexpr (can_pin) { lay_over(footing, tree_.pins().footing()); }
        if constexpr (requires(Subtree root) { T::count(inputs_, root); }) {
            if (std::getenv("TOLL_UNITS") != nullptr) { lay_over(footing, counted()); }
        }
        return footing;
    }

private:
    static constexpr bool can_pin = requires(const T& tree) { tree.pins().check(); };

    // Beyond these a request is a mistake: nobody waits for such a tree, and its sum would not fit 64 bits.
    static constexpr std::uint64_t most_tasks = 1'000'000'000;
    static constexpr std::uint64_t most_threads = 4096;

    /// What comes before the contender is made.
    static Inputs checked(Inputs inputs) {
        std::uint64_t size = inputs.tasks;
        while (size >= children && size % children == 0) { size /= children; }
        if (size != 1) {
            throw Unsupported("tasks must be a power of 10, got " + std::to_string(inputs.tasks));
        }
        if constexpr (!requires { requires T::thread_per_task; }) {
            if (inputs.threads == 0) {
                throw Unsupported("tasks share the threads here; ask for threads=1 or more");
            }
        }
        if (!can_pin && inputs.pinning != Pinning::none) { throw Unsupported(why_no_pinning()); }
        return inputs;
    }

    static std::string why_no_pinning() {
        const std::string ask = "; ask for pinning=none";
        if constexpr (requires { T::no_pinning; }) { return std::string(T::no_pinning) + ask; }
        if constexpr (requires { requires T::thread_per_task; }) {
            return "every task has a thread of its own, as short-lived as the task: none can be tied" + ask;
        }
        return "there are no worker threads here that could be tied" + ask;
    }

    static void lay_over(Footing& footing, const Footing& known_better) {
        for (const auto& [name, value] : known_better.all()) {
            std::visit([&, &key = name](const auto& known) { footing.set({key, known}); }, value);
        }
    }

    [[nodiscard]] Footing counted() const {
        census.reset();
        if (T::count(inputs_, Subtree{0, inputs_.tasks}) != expected(1)) {
            throw WrongAnswer("the sum is wrong while units are counted");
        }
        return census.footing();
    }

    Inputs inputs_;
    T tree_;
};

}  // namespace toll::skynet
