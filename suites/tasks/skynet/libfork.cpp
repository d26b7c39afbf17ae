#include "workload.hpp"

#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

#include <string_view>

struct LibFork {
    explicit LibFork(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return lf::sync_wait(threads_, sum<Unit>, root, toll::skynet::Uncounted{});
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return LibFork(inputs).run<toll::skynet::Counted>(root);
    }

    /// Nine children are forked: each begins at once, and a thread without work may take the rest of its
    /// parent. After the tenth nothing would be left to take, so it is called, a coroutine as well.
    template <class Unit>
    static constexpr auto sum =
        [](auto self, toll::skynet::Subtree node, auto /*unit*/) -> lf::task<std::uint64_t> {
        if (node.is_leaf()) { co_return node.ordinal; }
        toll::skynet::Sums sums;  // NOLINT(cppcoreguidelines-pro-type-member-init) each child writes its own
        constexpr std::uint64_t last = toll::skynet::children - 1;
        for (std::uint64_t i = 0; i < last; ++i) { co_await lf::fork(&sums[i], self)(node.child(i), Unit{}); }
        co_await lf::call(&sums[last], self)(node.child(last), Unit{});
        co_await lf::join;
        co_return toll::skynet::total(sums);
    };

    static constexpr std::string_view no_pinning = "libfork offers no way to tie its threads";

    lf::lazy_pool threads_;
};

TOLL_CONTENDER(skynet, libfork, LibFork);
