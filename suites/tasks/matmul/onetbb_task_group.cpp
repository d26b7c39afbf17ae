#include "../shared/onetbb_arena.hpp"
#include "workload.hpp"

#include <oneapi/tbb/task_group.h>

#include <array>

struct OneTbbTaskGroup {
    explicit OneTbbTaskGroup(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) {
        threads_.execute([&] { multiply(all); });
    }

    static void multiply(const toll::matmul::Product& block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) { return block.multiply(); }
        tbb::task_group group;
        all_of(block.first_half(), group);
        all_of(block.second_half(), group);
    }

    static void all_of(const std::array<toll::matmul::Product, 4>& products,
                       tbb::task_group& group) {  // NOLINT(misc-no-recursion)
        for (std::size_t i = 0; i < 3; ++i) {
            group.run([&product = products[i]] { multiply(product); });
        }
        group.run_and_wait([&] { multiply(products[3]); });
    }

    toll::OneTbbArena threads_;
};

TOLL_CONTENDER(matmul, onetbb_task_group, OneTbbTaskGroup);
