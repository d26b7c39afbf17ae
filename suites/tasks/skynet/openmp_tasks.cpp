#include "../shared/openmp_team.hpp"
#include "openmp_tree.hpp"
#include "pins.hpp"

#include <atomic>
#include <thread>

struct OpenMpTasks {
    explicit OpenMpTasks(const toll::skynet::Inputs& inputs)
        : threads_(toll::openmp_threads(inputs.threads)), pins_(inputs) {
        if (!pins_.wanted()) { return; }
        // The runtime keeps its threads: those of this team are those of every later one. The caller is the
        // first of them, and is tied last: the others would begin on its CPU.
        const auto caller = std::this_thread::get_id();
        std::atomic<unsigned> others{0};
#pragma omp parallel num_threads(threads_)
        if (std::this_thread::get_id() != caller) { pins_.tie(++others); }
        pins_.tie_caller();
    }

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
    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return pins_; }

    unsigned threads_;
    toll::skynet::Pins pins_;
};

TOLL_CONTENDER(skynet, openmp_tasks, OpenMpTasks);
