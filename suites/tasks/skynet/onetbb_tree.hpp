#pragma once

#include "onetbb_threads.hpp"

#include <oneapi/tbb/task_group.h>

namespace toll::skynet {

/// Nine children are tasks; run_and_wait runs the first one at once, in its parent's thread and on its stack.
template <class Unit>
struct TaskGroupSum {
    std::uint64_t operator()() const {
        if (node.is_leaf()) { return node.ordinal; }
        Sums sums{};
        tbb::task_group group;
        for (std::uint64_t i = 1; i < sums.size(); ++i) {
            group.run([&sums, this, i, unit = Unit{}] { sums[i] = TaskGroupSum{node.child(i)}(); });
        }
        group.run_and_wait([&sums, this] {
            Unit::ran_inline();
            sums[0] = TaskGroupSum{node.child(0)}();
        });
        return total(sums);
    }

    Subtree node;
};

}  // namespace toll::skynet
