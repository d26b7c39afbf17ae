#include "../shared/too_many_cooks_threads.hpp"
#include "pins.hpp"
#include "workload.hpp"

#include <tmc/spawn_many.hpp>

#include <functional>
#include <ranges>

/// Who is without work looks for it as its author's program for skynet has it.
struct TooManyCooks {
    explicit TooManyCooks(const toll::skynet::Inputs& inputs)
        : pins_(inputs), threads_(inputs.threads, tying(), tmc::work_stealing_strategy::LATTICE_MATRIX) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute(sum<Unit>(root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return TooManyCooks(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static tmc::task<std::uint64_t> sum(toll::skynet::Subtree node,
                                        auto /*unit*/) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { co_return node.ordinal; }
        auto children = std::views::iota(std::uint64_t{0}) | std::views::transform([node](std::uint64_t i) {
                            return sum<Unit>(node.child(i), Unit{});
                        });
        const toll::skynet::Sums sums = co_await tmc::spawn_many<toll::skynet::children>(children.begin());
        co_return toll::skynet::total(sums);
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return pins_; }

private:
    /// What TooManyCooks has each thread call before it looks for work.
    std::function<void(std::size_t)> tying() {
        if (!pins_.wanted()) { return nullptr; }
        return [this](std::size_t worker) { pins_.tie(static_cast<unsigned>(worker)); };
    }

    toll::skynet::Pins pins_;
    toll::TooManyCooksThreads threads_;
};

TOLL_CONTENDER(skynet, too_many_cooks, TooManyCooks);
