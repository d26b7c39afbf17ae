#include "../shared/one_thread.hpp"
#include "workload.hpp"

/// The floor: the same tree by plain calls. Nothing is spawned, so no scheduler can be cheaper.
struct SequentialRecursion {
    explicit SequentialRecursion(const toll::skynet::Inputs& inputs) {
        toll::require_one_thread(inputs.threads, "a recursion has one thread");
    }

    [[gnu::noinline]] std::uint64_t run(toll::skynet::Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        toll::skynet::Sums sums{};
        for (std::uint64_t i = 0; i < sums.size(); ++i) { sums[i] = run(node.child(i)); }
        return toll::skynet::total(sums);
    }

    [[nodiscard]] static toll::Footing footing() { return {{"units_created", 0}}; }
};

TOLL_CONTENDER(skynet, sequential_recursion, SequentialRecursion);
