#include "../shared/hpx_runtime.hpp"
#include "../shared/memory_limit.hpp"
#include "workload.hpp"

#include <array>
#include <cstdint>
#include <string_view>

/// As HPX's own skynet (tests/performance/local): a lightweight thread for each node, whose parent waits.
struct Hpx {
    explicit Hpx(const toll::skynet::Inputs& inputs) : threads_(with_room(inputs)) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute([root] { return sum<Unit>(root, toll::skynet::Uncounted{}); });
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Hpx(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static std::uint64_t sum(toll::skynet::Subtree node, const auto& /*unit*/) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { return node.ordinal; }
        std::array<hpx::future<std::uint64_t>, toll::skynet::children> tasks;
        for (std::uint64_t i = 0; i < toll::skynet::children; ++i) {
            tasks[i] = hpx::async([child = node.child(i), unit = Unit{}] { return sum<Unit>(child, unit); });
        }
        std::uint64_t total = 0;
        for (auto& one : tasks) { total += one.get(); }
        return total;
    }

    static constexpr std::string_view no_pinning = "HPX ties its threads by itself, in an order of its own";

private:
    static constexpr std::uint64_t bytes =
        1'500;  // a leaf with its share of what is above it: 1,310 to 1,480

    static unsigned with_room(const toll::skynet::Inputs& inputs) {
        toll::require_memory(inputs.tasks, bytes, "threads of HPX that may wait at once");
        return inputs.threads;
    }

    toll::HpxRuntime threads_;
};

TOLL_CONTENDER(skynet, hpx, Hpx);
