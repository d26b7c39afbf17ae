#include "../shared/stdexec_pool.hpp"
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace {  // what stdexec makes of senders has no linkage, and frames hold it

struct Stdexec {
    explicit Stdexec(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute(sum<Unit>(threads_.scheduler(), root, toll::skynet::Uncounted{}));
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return Stdexec(inputs).run<toll::skynet::Counted>(root);
    }

    template <class Unit>
    static toll::StdexecTask<std::uint64_t> sum(toll::StdexecPool::Scheduler pool, toll::skynet::Subtree node,
                                                auto /*unit*/) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { co_return node.ordinal; }
        const auto children = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return stdexec::when_all(stdexec::starts_on(pool, sum<Unit>(pool, node.child(I), Unit{}))...);
        };
        const auto sums = co_await children(std::make_index_sequence<toll::skynet::children>{});
        co_return std::apply([](auto... one) { return (one + ...); }, sums);
    }

    static constexpr std::string_view no_pinning = "stdexec's pool offers no way to tie its threads";

    toll::StdexecPool threads_;
};

}  // namespace

TOLL_CONTENDER(skynet, stdexec, Stdexec);
