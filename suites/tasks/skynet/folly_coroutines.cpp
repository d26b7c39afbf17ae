#include "../shared/folly_pool.hpp"
#include "../shared/memory_limit.hpp"
#include "pins.hpp"
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

struct FollyCoroutines {
    explicit FollyCoroutines(const toll::skynet::Inputs& inputs)
        : pins_(inputs), threads_(with_room(inputs), tying_.hook()) {
        tying_.wait_for(inputs.threads);
    }

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute(sum<Unit>(root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return FollyCoroutines(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static folly::coro::Task<std::uint64_t> sum(toll::skynet::Subtree node,
                                                auto /*unit*/) {  // NOLINT(misc-no-recursion)
        co_await folly::coro::co_reschedule_on_current_executor;
        if (node.is_leaf()) { co_return node.ordinal; }
        const auto children = [node]<std::size_t... I>(std::index_sequence<I...>) {
            return folly::coro::collectAllTry(sum<Unit>(node.child(I), Unit{})...);
        };
        const auto sums = co_await children(std::make_index_sequence<toll::skynet::children>{});
        co_return std::apply([](const auto&... one) { return (one.value() + ...); }, sums);
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return pins_; }

private:
    static constexpr std::uint64_t bytes = 1'100;  // a leaf with its share of what is above it: 930 to 1,040

    static unsigned with_room(const toll::skynet::Inputs& inputs) {
        toll::require_memory(inputs.tasks, bytes, "coroutines that may wait at once");
        return inputs.threads;
    }

    toll::skynet::Pins pins_;
    toll::skynet::TyingEach tying_{pins_};
    toll::FollyPool threads_;
};

TOLL_CONTENDER(skynet, folly_coroutines, FollyCoroutines);
