#include "../shared/coros_pool.hpp"
#include "workload.hpp"

#include <array>

/// A child that fails shows as a wrong answer: coros keeps what it threw in the task, which ends with the
/// wait.
struct Coros {
    explicit Coros(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { threads_.execute(multiply(all)); }

    static coros::Task<void> multiply(toll::matmul::Product block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            co_await coros::wait_tasks(multiply(half[0]), multiply(half[1]), multiply(half[2]),
                                       multiply(half[3]));
        }
    }

    toll::CorosPool threads_;
};

TOLL_CONTENDER(matmul, coros, Coros);
