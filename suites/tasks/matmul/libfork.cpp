#include "workload.hpp"

#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

#include <array>

struct LibFork {
    explicit LibFork(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) { lf::sync_wait(threads_, multiply, all); }

    static constexpr auto multiply = [](auto self, toll::matmul::Product block) -> lf::task<void> {
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        const std::array<toll::matmul::Product, 4> first = block.first_half();
        for (std::size_t i = 0; i < 3; ++i) { co_await lf::fork(self)(first[i]); }
        co_await lf::call(self)(first[3]);
        co_await lf::join;
        const std::array<toll::matmul::Product, 4> second = block.second_half();
        for (std::size_t i = 0; i < 3; ++i) { co_await lf::fork(self)(second[i]); }
        co_await lf::call(self)(second[3]);
        co_await lf::join;
    };

    lf::lazy_pool threads_;
};

TOLL_CONTENDER(matmul, libfork, LibFork);
