#include "onetbb_tree.hpp"

struct OneTbbTaskGroup {
    explicit OneTbbTaskGroup(const toll::skynet::Inputs& inputs) : tasks_(inputs.tasks), threads_(inputs) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute(toll::skynet::TaskGroupSum<Unit>{root});
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return OneTbbTaskGroup(inputs).run<toll::skynet::Counted>(root);
    }

    /// One child of each ten runs inline.
    [[nodiscard]] toll::Footing footing() const {
        return {{"units_created", toll::skynet::units_below_root(tasks_) / 10 * 9}};
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return threads_.pins(); }

    std::uint64_t tasks_;
    toll::skynet::OneTbbThreads threads_;
};

TOLL_CONTENDER(skynet, onetbb_task_group, OneTbbTaskGroup);
