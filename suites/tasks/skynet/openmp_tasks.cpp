#include "openmp_tree.hpp"

struct OpenMpTasks {
    explicit OpenMpTasks(const toll::skynet::Inputs& inputs) : threads_(inputs.threads) {}

    template <class Sum = toll::skynet::OpenMpSum>
    std::uint64_t run(toll::skynet::Subtree root) {
        std::uint64_t result = 0;
#pragma omp parallel num_threads(threads_)
#pragma omp single
        result = Sum::of(root);
        return result;
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return OpenMpTasks(inputs).run<toll::skynet::CountedOpenMpSum>(root);
    }

    static constexpr bool units_vary = true;
    unsigned threads_;
};

TOLL_CONTENDER(skynet, openmp_tasks, OpenMpTasks);
