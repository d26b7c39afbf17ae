#include "../shared/stdexec_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>

struct Stdexec {
    explicit Stdexec(const toll::matmul::Inputs& inputs) : threads_(inputs.threads, block) {}

    void run(const toll::matmul::Product& all) { threads_.execute(multiply(threads_.scheduler(), all)); }

    // NOLINTNEXTLINE(misc-no-recursion)
    static toll::StdexecTask<void> multiply(toll::StdexecPool::Scheduler pool, toll::matmul::Product block) {
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            co_await stdexec::when_all(stdexec::starts_on(pool, multiply(pool, half[0])),
                                       stdexec::starts_on(pool, multiply(pool, half[1])),
                                       stdexec::starts_on(pool, multiply(pool, half[2])),
                                       stdexec::starts_on(pool, multiply(pool, half[3])));
        }
    }

    /// Of the default's 8 a queue seldom has as many: 256 rows took 1.1 to 1.3 times as long in two threads.
    static constexpr std::size_t block = 2;

    toll::StdexecPool threads_;
};

TOLL_CONTENDER(matmul, stdexec, Stdexec);
