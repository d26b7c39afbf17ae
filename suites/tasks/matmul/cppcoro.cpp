#include "../shared/cppcoro_pool.hpp"
#include "workload.hpp"

#include <cppcoro/when_all.hpp>

#include <array>

struct Cppcoro {
    explicit Cppcoro(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { threads_.execute(multiply(threads_.pool(), all)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static cppcoro::task<void> multiply(cppcoro::static_thread_pool& pool, toll::matmul::Product block) {
        co_await pool.schedule();
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        const std::array<toll::matmul::Product, 4> first = block.first_half();
        co_await cppcoro::when_all(multiply(pool, first[0]), multiply(pool, first[1]),
                                   multiply(pool, first[2]), multiply(pool, first[3]));
        const std::array<toll::matmul::Product, 4> second = block.second_half();
        co_await cppcoro::when_all(multiply(pool, second[0]), multiply(pool, second[1]),
                                   multiply(pool, second[2]), multiply(pool, second[3]));
    }

    toll::CppcoroPool threads_;
};

TOLL_CONTENDER(matmul, cppcoro, Cppcoro);
