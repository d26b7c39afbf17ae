#include "workload.hpp"

#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

struct Cppcoro {
    explicit Cppcoro(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return cppcoro::sync_wait(sum<Unit>(threads_, root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Cppcoro(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static cppcoro::task<std::uint64_t> sum(cppcoro::static_thread_pool& pool, toll::skynet::Subtree node,
                                            auto /*unit*/) {  // NOLINT(misc-no-recursion)
        co_await pool.schedule();
        if (node.is_leaf()) { co_return node.ordinal; }
        std::vector<cppcoro::task<std::uint64_t>> tasks;
        tasks.reserve(toll::skynet::children);
        for (std::uint64_t i = 0; i < toll::skynet::children; ++i) {
            tasks.push_back(sum<Unit>(pool, node.child(i), Unit{}));
        }
        const std::vector<std::uint64_t> sums = co_await cppcoro::when_all(std::move(tasks));
        co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }

    static constexpr std::string_view no_pinning = "cppcoro offers no way to tie its threads";

    cppcoro::static_thread_pool threads_;
};

TOLL_CONTENDER(skynet, cppcoro, Cppcoro);
