#include "onetbb_threads.hpp"

#include <oneapi/tbb/task_group.h>

struct OneTbbTaskGroup {
    explicit OneTbbTaskGroup(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(toll::skynet::Subtree root) { return threads_.arena.execute(Sum{root}); }
    struct Sum {
        std::uint64_t operator()() const {
            if (node.is_leaf()) { return node.ordinal; }
            toll::skynet::Sums sums{};
            tbb::task_group group;
            const auto child = [&](auto i) { return [&sums, this, i] { sums[i] = Sum{node.child(i)}(); }; };
            for (std::uint64_t i = 1; i < sums.size(); ++i) { group.run(child(i)); }
            group.run_and_wait(child(std::uint64_t{0}));
            return toll::skynet::total(sums);
        }
        toll::skynet::Subtree node;
    };
    toll::skynet::OneTbbThreads threads_;
};

TOLL_CONTENDER(skynet, onetbb_task_group, OneTbbTaskGroup);
