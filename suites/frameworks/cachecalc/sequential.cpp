#include "waiting.hpp"

struct Sequential {
    explicit Sequential(const toll::cachecalc::Inputs& inputs) {
        toll::cachecalc::require_one_thread(inputs, "one task comes after another");
    }
    void run(toll::cachecalc::Load& load) const {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.compute();
            load.wait_begins(task);
            wait_(load.wait());
            load.wait_ended(task);
            load.compute();
        }
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::ReadDevZero::how}}; }

    toll::cachecalc::ReadDevZero wait_;
};

TOLL_CONTENDER(cachecalc, sequential, Sequential);
