#include "../shared/libcoro_pool.hpp"
#include "pins.hpp"
#include "workload.hpp"

#include <cstdint>
#include <ranges>

struct Libcoro {
    explicit Libcoro(const toll::skynet::Inputs& inputs)
        : pins_(inputs), threads_(inputs.threads, {inputs.tasks, bytes}, tying_.hook()) {
        tying_.wait_for(inputs.threads);
    }

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return coro::sync_wait(sum<Unit>(threads_.pool(), root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Libcoro(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static coro::task<std::uint64_t> sum(coro::thread_pool& pool, toll::skynet::Subtree node,
                                         auto /*unit*/) {  // NOLINT(misc-no-recursion)
        co_await pool.schedule();
        if (node.is_leaf()) { co_return node.ordinal; }
        auto done = co_await coro::when_all(
            std::views::iota(std::uint64_t{0}, toll::skynet::children) |
            std::views::transform([&](std::uint64_t i) { return sum<Unit>(pool, node.child(i), Unit{}); }));
        std::uint64_t total = 0;
        for (auto& one : done) { total += one.return_value(); }
        co_return total;
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return pins_; }

private:
    static constexpr std::uint64_t bytes = 600;  // a leaf with its share of what is above it: 517 to 575

    toll::skynet::Pins pins_;
    toll::skynet::TyingEach tying_{pins_};
    toll::LibcoroPool threads_;
};

TOLL_CONTENDER(skynet, libcoro, Libcoro);
