#include "../shared/coros_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

struct Coros {
    explicit Coros(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute(sum<Unit>(root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Coros(inputs).run<toll::skynet::Counted>(root);
    }

    /// The children stand in an array of their parent's: a vector would be another block from the heap.
    template <class Unit>
    static coros::Task<std::uint64_t> sum(toll::skynet::Subtree node,
                                          auto /*unit*/) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { co_return node.ordinal; }
        std::array<coros::Task<std::uint64_t>, toll::skynet::children> tasks;
        for (std::uint64_t i = 0; i < toll::skynet::children; ++i) {
            tasks[i] = sum<Unit>(node.child(i), Unit{});
        }
        co_await std::apply([](auto&... each) { return coros::wait_tasks(each...); }, tasks);
        std::uint64_t total = 0;
        for (auto& one : tasks) { total += toll::result_of(one); }
        co_return total;
    }

    static constexpr std::string_view no_pinning = "coros offers no way to tie its threads";

    toll::CorosPool threads_;
};

TOLL_CONTENDER(skynet, coros, Coros);
