#pragma once

#include "workload.hpp"

namespace toll::skynet {

/// Nine children are tasks, and the last one is run by its parent, which would have to wait otherwise.
/// libgomp runs a task at once, in its parent, while more than 64 a thread wait; libomp does so where its
/// queue is full.
struct OpenMpSum {
    static std::uint64_t of(Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        Sums sums{};
        constexpr std::uint64_t last = children - 1;
        for (std::uint64_t i = 0; i < last; ++i) {
#pragma omp task default(none) shared(sums) firstprivate(node, i)
            sums[i] = of(node.child(i));
        }
        sums[last] = of(node.child(last));
#pragma omp taskwait
        return total(sums);
    }
};

/// The same tree; `spawning` is the node whose child this thread is just making, so that a child finds it set
/// only where it runs inside of the directive. Until then it counts as a unit too, at most one a thread.
struct CountedOpenMpSum {
    static std::uint64_t of(Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        Sums sums{};
        constexpr std::uint64_t last = children - 1;
        for (std::uint64_t i = 0; i < last; ++i) {
            census.made();
            spawning = &sums;
#pragma omp task default(none) shared(sums, census) firstprivate(node, i)
            {
                const bool in_parent = spawning == &sums;
                if (in_parent) { census.is_inline(); }
                sums[i] = of(node.child(i));
                if (!in_parent) { census.ended(); }
            }
            spawning = nullptr;
        }
        census.ran_inline();
        sums[last] = of(node.child(last));
#pragma omp taskwait
        return total(sums);
    }

    static inline thread_local const Sums* spawning = nullptr;
};

}  // namespace toll::skynet
