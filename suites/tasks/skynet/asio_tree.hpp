#pragma once

// What the Boost.Asio contenders share: one C++20 coroutine for each node, spawned by its parent.

#include "../shared/asio_children.hpp"
#include "workload.hpp"

namespace toll::skynet {

namespace asio = boost::asio;

/// What a contender derives from.
template <class Executor>
class Coroutines {
public:
    explicit Coroutines(const Inputs& inputs) : inputs_(inputs) {}

    /// The root is spawned too.
    [[nodiscard]] Footing footing() const { return {{"units_created", units_below_root(inputs_.tasks) + 1}}; }

protected:
    /// Sum of `node`; throws what the first failing child threw. The coroutine holds its `unit`.
    template <class Unit>
    static asio::awaitable<std::uint64_t, Executor> sum(Executor executor, Subtree node,
                                                        [[maybe_unused]] Unit unit) {
#if defined(__clang_analyzer__)
        co_return 0;  // it does not know how coroutines begin, and finds uninitialised frames inside Asio
#endif
        if (node.is_leaf()) { co_return node.ordinal; }
        const auto child = [executor, node](std::size_t i) { return sum(executor, node.child(i), Unit{}); };
        co_return co_await total_of_spawned<children>(executor, children, child);
    }

private:
    Inputs inputs_;
};

}  // namespace toll::skynet
