#include "../shared/citor_pool.hpp"
#include "workload.hpp"

#include <string_view>

struct Citor {
    explicit Citor(const toll::skynet::Inputs& inputs)
        : tasks_(inputs.tasks),
          threads_asked_(inputs.threads),
          threads_(inputs.threads, citor::Affinity::None) {}

    std::uint64_t run(toll::skynet::Subtree root) {  // NOLINT(misc-no-recursion)
        if (root.is_leaf()) { return root.ordinal; }
        toll::skynet::Sums sums;  // NOLINT(cppcoreguidelines-pro-type-member-init) each child writes its own
        threads_.fork_join_all(sums.size(), [&](std::size_t i) { sums[i] = run(root.child(i)); });
        return toll::skynet::total(sums);
    }

    /// All children of the root are queued, and nine of ten of other nodes; in one thread nothing is.
    [[nodiscard]] toll::Footing footing() const {
        return {{"units_created", threads_asked_ == 1 ? std::uint64_t{0} : tasks_}};
    }

    static constexpr std::string_view no_pinning =
        "citor is asked for no pinning here; what it offers is an order of its own";

    std::uint64_t tasks_;
    unsigned threads_asked_;
    toll::CitorPool threads_;
};

TOLL_CONTENDER(skynet, citor, Citor);
