#include "workload.hpp"

#include <array>
#include <numeric>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

struct OneTbbTaskGroup {
    explicit OneTbbTaskGroup(const toll::skynet::Inputs& inputs) : arena_(static_cast<int>(inputs.threads)) {}

    std::uint64_t run(toll::skynet::Subtree root) { return arena_.execute([root] { return sum(root); }); }

    static std::uint64_t sum(toll::skynet::Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        std::array<std::uint64_t, toll::skynet::children> sums{};
        tbb::task_group group;
        for (std::uint64_t i = 1; i < sums.size(); ++i) { group.run([&sums, node, i] { sums[i] = sum(node.child(i)); }); }
        group.run_and_wait([&sums, node] { sums[0] = sum(node.child(0)); });
        return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }

    tbb::task_arena arena_;
};

TOLL_CONTENDER(skynet, onetbb_task_group, OneTbbTaskGroup);
