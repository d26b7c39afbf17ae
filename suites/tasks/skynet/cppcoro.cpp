#include "workload.hpp"

#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

struct Cppcoro {
    explicit Cppcoro(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return cppcoro::sync_wait(sum<Unit>(threads_, root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Cppcoro(inputs).run<toll::skynet::Counted>(root);
    }

    /// The children are the arguments of one when_all, so that they and their sums stand in the parent's
    /// frame: one that takes a vector allocates three.
    template <class Unit>
    static cppcoro::task<std::uint64_t> sum(cppcoro::static_thread_pool& pool, toll::skynet::Subtree node,
                                            auto /*unit*/) {  // NOLINT(misc-no-recursion)
        co_await pool.schedule();
        if (node.is_leaf()) { co_return node.ordinal; }
        const auto children = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return cppcoro::when_all(sum<Unit>(pool, node.child(I), Unit{})...);
        };
        const auto sums = co_await children(std::make_index_sequence<toll::skynet::children>{});
        co_return std::apply([](auto... one) { return (one + ...); }, sums);
    }

    static constexpr std::string_view no_pinning = "cppcoro offers no way to tie its threads";

    cppcoro::static_thread_pool threads_;
};

TOLL_CONTENDER(skynet, cppcoro, Cppcoro);
