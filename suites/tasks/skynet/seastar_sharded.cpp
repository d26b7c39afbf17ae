#include "../shared/seastar_runtime.hpp"
#include "workload.hpp"

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/all.hh>
#include <seastar/util/later.hh>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

/// Nodes of the first two levels are handed to the shards in turn, and each shard grows what is below them
/// alone, as Seastar moves no work by itself. A coroutine for each node, begun at once as Seastar begins
/// them; those of the first two levels wait in their shard's queue, as messages to the other shards leave
/// between tasks alone. Where all waited there, by yield(), Seastar warned of too long a queue.
struct SeastarSharded {
    static constexpr bool once_per_process = true;

    explicit SeastarSharded(const toll::skynet::Inputs& inputs)
        : tasks_(inputs.tasks), seastar_(latest_.lock()) {
        if (seastar_ == nullptr) {
            seastar_ = std::make_shared<toll::SeastarRuntime>(inputs.threads, toll::Idle::polls_briefly);
            latest_ = seastar_;
        }
    }

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        const std::uint64_t own = tasks_ / (toll::skynet::children * toll::skynet::children);
        return seastar_->execute([root, own] { return sum<Unit>(root, own, toll::skynet::Uncounted{}); });
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return SeastarSharded(inputs).run<toll::skynet::Counted>(root);
    }

    static constexpr std::string_view no_pinning =
        "Seastar ties its shards by itself, in an order of its own";

private:
    /// `own`: leaves of the largest subtree that one shard grows.
    template <class Unit>
    static seastar::future<std::uint64_t> sum(toll::skynet::Subtree node, std::uint64_t own,
                                              auto /*unit*/) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { co_return node.ordinal; }
        const auto children = [node, own]<std::size_t... I>(std::index_sequence<I...>) {
            return seastar::coroutine::all(
                [child = node.child(I), own] { return begun<Unit>(child, own); }...);
        };
        const auto sums = co_await children(std::make_index_sequence<toll::skynet::children>{});
        co_return std::apply([](auto... one) { return (one + ...); }, sums);
    }

    template <class Unit>
    static seastar::future<std::uint64_t> begun(toll::skynet::Subtree node,
                                                std::uint64_t own) {  // NOLINT(misc-no-recursion)
        if (node.size < own) { return sum<Unit>(node, own, Unit{}); }
        const auto shard = static_cast<unsigned>(node.ordinal / node.size % seastar::smp::count);
        if (shard == seastar::this_shard_id()) {
            return seastar::yield().then([node, own] { return sum<Unit>(node, own, Unit{}); });
        }
        return seastar::smp::submit_to(shard, [node, own] { return sum<Unit>(node, own, Unit{}); });
    }

    static inline std::weak_ptr<toll::SeastarRuntime> latest_;  // a process has one
    std::uint64_t tasks_;
    std::shared_ptr<toll::SeastarRuntime> seastar_;
};

TOLL_CONTENDER(skynet, seastar_sharded, SeastarSharded);
