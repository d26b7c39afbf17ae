#include "../shared/concurrencpp_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>

struct Concurrencpp {
    explicit Concurrencpp(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { multiply({}, threads_.executor(), all).get(); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static concurrencpp::result<void> multiply(concurrencpp::executor_tag tag,
                                               toll::ConcurrencppPool::Executor pool,
                                               toll::matmul::Product block) {
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            std::array<concurrencpp::result<void>, 4> tasks;
            for (std::size_t i = 0; i < tasks.size(); ++i) { tasks[i] = multiply(tag, pool, half[i]); }
            for (auto& one : tasks) { co_await one; }
        }
    }

    toll::ConcurrencppPool threads_;
};

TOLL_CONTENDER(matmul, concurrencpp, Concurrencpp);
