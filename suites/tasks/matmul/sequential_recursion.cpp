#include "../shared/one_thread.hpp"
#include "workload.hpp"

/// The floor: plain calls. Nothing is forked, so no scheduler can be cheaper.
struct SequentialRecursion {
    explicit SequentialRecursion(const toll::matmul::Inputs& inputs) {
        toll::require_one_thread(inputs.threads, "a recursion has one thread");
    }

    // NOLINTNEXTLINE(misc-no-recursion,readability-convert-member-functions-to-static)
    void run(const toll::matmul::Product& all) {
        if (all.size == toll::matmul::leaf) { return all.multiply(); }
        for (const toll::matmul::Product& product : all.first_half()) { run(product); }
        for (const toll::matmul::Product& product : all.second_half()) { run(product); }
    }
};

TOLL_CONTENDER(matmul, sequential_recursion, SequentialRecursion);
