#pragma once

// The tree for contenders that make one unit (a thread, a fiber) for each node below the root.

#include "first_failure.hpp"
#include "workload.hpp"

#include <array>
#include <exception>
#include <new>

namespace toll::skynet {

/// What such a contender tells: how a unit is made.
///  - `start(work)` makes a unit that runs `work`. JoinedTree: it returns a `Unit` with join(); FutureTree: a
///    `Unit` with get(), the value that `work` returned; DetachedTree: nothing.
///  - `room()` is asked before each start: false where another unit would exceed a limit of the machine.
///  - `ended()` is told that a unit's join or get returned; detached, by the unit itself before it sends.
///  - `check()` throws where room() was false since the last check: one sentence that names the limit.
///  - `cannot_start()` (optional): throws what start's exception means, where that says little by itself.
///  - `footing()` (optional): see Tree.
/// `Source` is constructible from Inputs.
template <class Source>
class SpawningTree {
public:
    static constexpr bool thread_per_task = requires { requires Source::thread_per_task; };

    explicit SpawningTree(const Inputs& inputs) : source(inputs) {}

    [[nodiscard]] Footing footing() const {
        if constexpr (requires { source.footing(); }) { return source.footing(); }
        return {};
    }

protected:
    /// Calls start(0), start(1) ... for as many children as can be made. Returns how many.
    template <class Start>
    std::uint64_t start_children(const Start& start) {
        std::uint64_t started = 0;
        try {
            for (; started < children && source.room(); ++started) { start(started); }
        } catch (...) { failure.keep(std::current_exception()); }
        return started;
    }

    /// The same for units that are waited for: end(unit) for each that start(i) made, in their order.
    template <class Start, class End>
    void start_and_end_children(const Start& start, const End& end) {
        std::array<typename Source::Unit, children> units;
        const std::uint64_t started = start_children([&](std::uint64_t i) { units[i] = start(i); });
        for (std::uint64_t i = 0; i < started; ++i) {
            end(units[i]);
            source.ended();
        }
    }

    std::uint64_t checked(std::uint64_t sum) {
        try {
            failure.rethrow();
        } catch (const std::bad_alloc&) {
            throw;  // explains itself
        } catch (const std::exception&) {
            if constexpr (requires { source.cannot_start(); }) { source.cannot_start(); }
            throw;
        }
        source.check();
        return sum;
    }

    Source source;
    FirstFailure failure;
};

/// A child writes its sum into its parent's array; the parent joins its children.
template <class Source>
class JoinedTree : public SpawningTree<Source> {
public:
    using SpawningTree<Source>::SpawningTree;

    std::uint64_t run(Subtree root) { return this->checked(sum(root)); }

private:
    std::uint64_t sum(Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        Sums sums{};
        const auto start = [&](std::uint64_t i) {
            return this->source.start([this, &sums, node, i] { sums[i] = sum(node.child(i)); });
        };
        this->start_and_end_children(start, [](auto& unit) { unit.join(); });
        return total(sums);
    }
};

/// A child's sum reaches its parent through a future.
template <class Source>
class FutureTree : public SpawningTree<Source> {
public:
    using SpawningTree<Source>::SpawningTree;

    std::uint64_t run(Subtree root) { return this->checked(sum(root)); }

private:
    std::uint64_t sum(Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        std::uint64_t all = 0;
        const auto start = [&](std::uint64_t i) {
            return this->source.start([this, node, i] { return sum(node.child(i)); });
        };
        this->start_and_end_children(start, [&all](auto& unit) { all += unit.get(); });
        return all;
    }
};

/// A child sends its sum to its parent through a channel; nobody joins it. `Channel` has push() and
/// value_pop(). After its push a unit touches nothing of the tree, which may be gone by then.
template <class Source, class Channel>
class DetachedTree : public SpawningTree<Source> {
public:
    using SpawningTree<Source>::SpawningTree;

    std::uint64_t run(Subtree root) {
        Channel result{2};
        result.push(sum(root));
        return this->checked(result.value_pop());
    }

private:
    std::uint64_t sum(Subtree node) { return node.is_leaf() ? node.ordinal : sum_of_children(node); }

    /// Apart, so that a leaf, which is nine units of ten, has no room for a channel on its stack.
    [[gnu::noinline]] std::uint64_t sum_of_children(Subtree node) {
        Channel sums{16};  // a power of two that holds ten: no child waits for room
        const std::uint64_t started = this->start_children([&](std::uint64_t i) {
            this->source.start([this, &sums, node, i] {
                const std::uint64_t mine = sum(node.child(i));
                this->source.ended();
                sums.push(mine);
            });
        });
        std::uint64_t all = 0;
        for (std::uint64_t i = 0; i < started; ++i) { all += sums.value_pop(); }
        return all;
    }
};

}  // namespace toll::skynet
