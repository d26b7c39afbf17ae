#include "../shared/citor_pool.hpp"
#include "workload.hpp"

#include <array>

struct Citor {
    explicit Citor(const toll::matmul::Inputs& inputs) : threads_(inputs.threads) {}

    void run(const toll::matmul::Product& all) {  // NOLINT(misc-no-recursion)
        if (all.size == toll::matmul::leaf) { return all.multiply(); }
        all_of(all.first_half());
        all_of(all.second_half());
    }

    void all_of(const std::array<toll::matmul::Product, 4>& products) {  // NOLINT(misc-no-recursion)
        threads_.fork_join([&] { run(products[0]); }, [&] { run(products[1]); }, [&] { run(products[2]); },
                           [&] { run(products[3]); });
    }

    toll::CitorPool threads_;
};

TOLL_CONTENDER(matmul, citor, Citor);
