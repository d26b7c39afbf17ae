#include "workload.hpp"

struct ComputationOnly {
    static constexpr bool never_waits = true;
    explicit ComputationOnly(const toll::cachecalc::Inputs& inputs) {
        toll::cachecalc::require_one_thread(inputs, "one thread computes all of it");
    }
    static void run(toll::cachecalc::Load& load) {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.compute();
            load.compute();
        }
    }
};

TOLL_CONTENDER(cachecalc, computation_only, ComputationOnly);
