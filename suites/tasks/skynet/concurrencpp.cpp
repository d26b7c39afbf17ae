#include "../shared/concurrencpp_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstdint>
#include <string_view>

struct Concurrencpp {
    explicit Concurrencpp(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return sum<Unit>({}, threads_.executor(), root, toll::skynet::Uncounted{}).get();
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Concurrencpp(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static concurrencpp::result<std::uint64_t> sum(concurrencpp::executor_tag tag,
                                                   toll::ConcurrencppPool::Executor pool,
                                                   toll::skynet::Subtree node,
                                                   auto /*unit*/) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { co_return node.ordinal; }
        std::array<concurrencpp::result<std::uint64_t>, toll::skynet::children> tasks;
        for (std::uint64_t i = 0; i < toll::skynet::children; ++i) {
            tasks[i] = sum<Unit>(tag, pool, node.child(i), Unit{});
        }
        std::uint64_t total = 0;
        for (auto& one : tasks) { total += co_await one; }
        co_return total;
    }

    static constexpr std::string_view no_pinning = "concurrencpp makes no thread before it has work for it";

    toll::ConcurrencppPool threads_;
};

TOLL_CONTENDER(skynet, concurrencpp, Concurrencpp);
