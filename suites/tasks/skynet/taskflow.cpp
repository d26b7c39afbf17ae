#include "../shared/taskflow_tasks.hpp"
#include "pins.hpp"
#include "workload.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

struct Taskflow {
    explicit Taskflow(const toll::skynet::Inputs& inputs)
        : tasks_(inputs.tasks), pins_(inputs), threads_(inputs.threads, tying()) {
        tying_.wait_for(inputs.threads);
    }

    std::uint64_t run(toll::skynet::Subtree root) {
        return threads_.execute([root](toll::TaskflowScope scope) { return sum(root, scope); });
    }

    /// Nine children are tasks; the tenth runs at once, in its parent's thread and on its stack. A task holds
    /// two words, which fit into a std::function: three would be a block from the heap.
    static std::uint64_t sum(toll::skynet::Subtree node,
                             toll::TaskflowScope scope) {  // NOLINT(misc-no-recursion)
        if (node.is_leaf()) { return node.ordinal; }
        struct {
            toll::skynet::Subtree node;
            toll::skynet::Sums sums;
        } parent{node, {}};
        toll::TaskflowGroup group{scope};
        const auto child = [&parent](std::uint64_t i) {
            return [&parent, i](toll::TaskflowScope own) { parent.sums[i] = sum(parent.node.child(i), own); };
        };
        for (std::uint64_t i = 1; i < toll::skynet::children; ++i) { group.run(child(i)); }
        group.run_and_wait(child(0));
        return toll::skynet::total(parent.sums);
    }

    [[nodiscard]] toll::Footing footing() const {
        const std::uint64_t tenth = toll::skynet::units_below_root(tasks_) / toll::skynet::children;
        return {{"units_created", tenth * (toll::TaskflowGroup::makes_last_itself ? 9 : 10)}};
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return pins_; }

private:
    /// Taskflow's own way: each thread calls this before it looks for work.
    class Tying : public tf::WorkerInterface {
    public:
        explicit Tying(std::function<void(std::size_t)> hook) : hook_(std::move(hook)) {}

        void scheduler_prologue(tf::Worker& worker) override { hook_(worker.id()); }
        void scheduler_epilogue(tf::Worker& /*worker*/, std::exception_ptr /*error*/) override {}

    private:
        std::function<void(std::size_t)> hook_;
    };

    std::shared_ptr<tf::WorkerInterface> tying() {
        return pins_.wanted() ? std::make_shared<Tying>(tying_.hook()) : nullptr;
    }

    std::uint64_t tasks_;
    toll::skynet::Pins pins_;
    toll::skynet::TyingEach tying_{pins_};
    toll::TaskflowThreads threads_;
};

TOLL_CONTENDER(skynet, taskflow, Taskflow);
