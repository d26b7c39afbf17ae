#include "../shared/fiber_workers.hpp"
#include "workload.hpp"

#include <array>

struct BoostFiberWorkStealing {
    static constexpr bool once_per_process = toll::WorkStealingFibers::once_per_process;

    explicit BoostFiberWorkStealing(const toll::matmul::Inputs& inputs)
        : fibers_(inputs.threads, toll::matmul::products(inputs.n)) {}

    void run(const toll::matmul::Product& all) {
        fibers_.execute([&all] { multiply(all); });
    }

    static void multiply(const toll::matmul::Product& block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) { return block.multiply(); }
        all_of(block.first_half());
        all_of(block.second_half());
    }

    static void all_of(const std::array<toll::matmul::Product, 4>& products) {  // NOLINT(misc-no-recursion)
        std::array<boost::fibers::fiber, 3> forked;
        for (std::size_t i = 0; i < 3; ++i) {
            forked[i] = toll::WorkStealingFibers::start([&product = products[i]] { multiply(product); });
        }
        multiply(products[3]);
        for (boost::fibers::fiber& one : forked) { one.join(); }
    }

    toll::WorkStealingFibers fibers_;
};

TOLL_CONTENDER(matmul, boost_fiber_work_stealing, BoostFiberWorkStealing);
