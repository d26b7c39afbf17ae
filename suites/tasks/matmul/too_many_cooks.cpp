#include "../shared/too_many_cooks_threads.hpp"
#include "workload.hpp"

#include <tmc/spawn_tuple.hpp>

#include <array>

struct TooManyCooks {
    explicit TooManyCooks(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { threads_.execute(multiply(all)); }

    static tmc::task<void> multiply(toll::matmul::Product block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        const std::array<toll::matmul::Product, 4> first = block.first_half();
        co_await tmc::spawn_tuple(multiply(first[0]), multiply(first[1]), multiply(first[2]),
                                  multiply(first[3]));
        const std::array<toll::matmul::Product, 4> second = block.second_half();
        co_await tmc::spawn_tuple(multiply(second[0]), multiply(second[1]), multiply(second[2]),
                                  multiply(second[3]));
    }

    toll::TooManyCooksThreads threads_;
};

TOLL_CONTENDER(matmul, too_many_cooks, TooManyCooks);
