#include "workload.hpp"

struct OpenMpTasks {
    explicit OpenMpTasks(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}
    std::uint64_t run(toll::skynet::Subtree root) {
        std::uint64_t result = 0;
#pragma omp parallel num_threads(threads_)
#pragma omp single
        result = sum(root);
        return result;
    }

    static std::uint64_t sum(toll::skynet::Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        toll::skynet::Sums sums{};
        for (std::uint64_t i = 0; i < sums.size(); ++i) {
#pragma omp task default(none) shared(sums) firstprivate(node, i)
            sums[i] = sum(node.child(i));
        }
#pragma omp taskwait
        return toll::skynet::total(sums);
    }
    unsigned threads_;
};
TOLL_CONTENDER(skynet, openmp_tasks, OpenMpTasks);
