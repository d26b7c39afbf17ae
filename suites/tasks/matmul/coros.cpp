#include "../shared/coros_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>
#include <tuple>

struct Coros {
    explicit Coros(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { threads_.execute(multiply(all)); }

    static coros::Task<void> multiply(toll::matmul::Product block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            std::array<coros::Task<void>, 4> tasks;
            for (std::size_t i = 0; i < tasks.size(); ++i) { tasks[i] = multiply(half[i]); }
            co_await std::apply([](auto&... each) { return coros::wait_tasks(each...); }, tasks);
            for (auto& one : tasks) { toll::result_of(one); }
        }
    }

    toll::CorosPool threads_;
};

TOLL_CONTENDER(matmul, coros, Coros);
