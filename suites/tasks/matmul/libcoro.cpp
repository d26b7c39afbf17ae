#include "../shared/libcoro_pool.hpp"
#include "workload.hpp"

#include <array>
#include <tuple>

struct Libcoro {
    explicit Libcoro(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { coro::sync_wait(multiply(threads_.pool(), all)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static coro::task<void> multiply(coro::thread_pool& pool, toll::matmul::Product block) {
        co_await pool.schedule();
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            auto done = co_await coro::when_all(multiply(pool, half[0]), multiply(pool, half[1]),
                                                multiply(pool, half[2]), multiply(pool, half[3]));
            std::apply([](auto&... one) { (one.return_value(), ...); }, done);  // throws what one threw
        }
    }

    toll::LibcoroPool threads_;
};

TOLL_CONTENDER(matmul, libcoro, Libcoro);
