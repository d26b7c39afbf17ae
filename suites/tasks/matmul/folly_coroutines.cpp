#include "../shared/folly_pool.hpp"
#include "workload.hpp"

#include <array>
#include <tuple>

struct FollyCoroutines {
    explicit FollyCoroutines(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { threads_.execute(multiply(all)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static folly::coro::Task<void> multiply(toll::matmul::Product block) {
        co_await folly::coro::co_reschedule_on_current_executor;
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            const auto ended = co_await folly::coro::collectAllTry(multiply(half[0]), multiply(half[1]),
                                                                   multiply(half[2]), multiply(half[3]));
            std::apply([](const auto&... one) { (one.value(), ...); }, ended);  // throws what one threw
        }
    }

    toll::FollyPool threads_;
};

TOLL_CONTENDER(matmul, folly_coroutines, FollyCoroutines);
