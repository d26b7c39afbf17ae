#include "../shared/openmp_team.hpp"
#include "workload.hpp"

#include <array>

struct OpenMpTasks {
    explicit OpenMpTasks(const toll::matmul::Inputs& inputs)
        : threads_(toll::openmp_threads(inputs.threads)) {}

    void run(const toll::matmul::Product& all) const {
#pragma omp parallel num_threads(threads_)
#pragma omp single
        multiply(all);
    }

    static void multiply(const toll::matmul::Product& block) {  // NOLINT(misc-no-recursion)
        if (block.size == toll::matmul::leaf) { return block.multiply(); }
        all_of(block.first_half());
        all_of(block.second_half());
    }

    static void all_of(const std::array<toll::matmul::Product, 4>& products) {  // NOLINT(misc-no-recursion)
        for (std::size_t i = 0; i < 3; ++i) {
            const toll::matmul::Product& product = products[i];
#pragma omp task default(none) shared(product)
            multiply(product);
        }
        multiply(products[3]);
#pragma omp taskwait
    }

    unsigned threads_;
};

TOLL_CONTENDER(matmul, openmp_tasks, OpenMpTasks);
