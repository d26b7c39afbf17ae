#pragma once

// What the Boost.Asio contenders share: one C++20 coroutine for each node, spawned by its parent.

#include "workload.hpp"

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <utility>

namespace toll::skynet {

namespace asio = boost::asio;

/// Where the children of one node leave their sums; the last one to end resumes their parent.
template <class Resume>
struct Siblings {
    explicit Siblings(Resume&& parent) : resume(std::move(parent)) {}

    void ended(std::uint64_t child, const std::exception_ptr& failure, std::uint64_t sum) {
        sums[child] = sum;
        if (failure && !failed.test_and_set()) { first_failure = failure; }
        if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::move(resume)(first_failure, total(sums));
        }
    }

    Resume resume;
    std::atomic_flag failed;
    std::exception_ptr first_failure;
    std::atomic<std::uint64_t> running{children};
    Sums sums{};
};

/// What a contender derives from. `Executor` is the executor's own type, not any_io_executor: nothing is
/// erased at a spawn.
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
        const auto spawn_children = [executor, node](auto resume) {
            const auto siblings = std::make_shared<Siblings<decltype(resume)>>(std::move(resume));
            for (std::uint64_t i = 0; i < children; ++i) {
                const auto ended = [siblings, i](const std::exception_ptr& failure, std::uint64_t child_sum) {
                    siblings->ended(i, failure, child_sum);
                };
                try {
                    asio::co_spawn(executor, sum(executor, node.child(i), Unit{}), ended);
                } catch (...) { ended(std::current_exception(), 0); }
            }
        };
        using Token = const asio::use_awaitable_t<Executor>;
        constexpr Token await;
        using Signature = void(std::exception_ptr, std::uint64_t);
        co_return co_await asio::async_initiate<Token, Signature>(spawn_children, await);
    }

private:
    Inputs inputs_;
};

}  // namespace toll::skynet
