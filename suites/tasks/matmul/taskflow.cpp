#include "../shared/taskflow_tasks.hpp"
#include "workload.hpp"

#include <array>

struct Taskflow {
    explicit Taskflow(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) {
        threads_.execute([&all](toll::TaskflowScope scope) { multiply(all, scope); });
    }

    static void multiply(const toll::matmul::Product& block,
                         toll::TaskflowScope scope) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) { return block.multiply(); }
        toll::TaskflowGroup group{scope};
        all_of(block.first_half(), group);
        all_of(block.second_half(), group);
    }

    static void all_of(const std::array<toll::matmul::Product, 4>& products,
                       toll::TaskflowGroup& group) {  // NOLINT(misc-no-recursion)
        for (std::size_t i = 0; i < 3; ++i) {
            group.run([&product = products[i]](toll::TaskflowScope own) { multiply(product, own); });
        }
        group.run_and_wait([&product = products[3]](toll::TaskflowScope own) { multiply(product, own); });
    }

    toll::TaskflowThreads threads_;
};

TOLL_CONTENDER(matmul, taskflow, Taskflow);
