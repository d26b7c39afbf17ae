#include "../shared/hpx_runtime.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>

struct Hpx {
    explicit Hpx(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) {
        threads_.execute([&all] { multiply(all); });
    }

    static void multiply(const toll::matmul::Product& block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) { return block.multiply(); }
        all_of(block.first_half());
        all_of(block.second_half());
    }

    static void all_of(const std::array<toll::matmul::Product, 4>& products) {  // NOLINT(misc-no-recursion)
        std::array<hpx::future<void>, 3> others;
        for (std::size_t i = 0; i < others.size(); ++i) {
            others[i] = hpx::async([product = products[i]] { multiply(product); });
        }
        multiply(products[3]);
        for (hpx::future<void>& one : others) { one.get(); }
    }

    toll::HpxRuntime threads_;
};

TOLL_CONTENDER(matmul, hpx, Hpx);
