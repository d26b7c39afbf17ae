#include "workload.hpp"

#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <array>

struct Cppcoro {
    explicit Cppcoro(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { cppcoro::sync_wait(multiply(threads_, all)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static cppcoro::task<void> multiply(cppcoro::static_thread_pool& pool, toll::matmul::Product block) {
        co_await pool.schedule();
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            co_await cppcoro::when_all(multiply(pool, half[0]), multiply(pool, half[1]),
                                       multiply(pool, half[2]), multiply(pool, half[3]));
        }
    }

    cppcoro::static_thread_pool threads_;
};

TOLL_CONTENDER(matmul, cppcoro, Cppcoro);
