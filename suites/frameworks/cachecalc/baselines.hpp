#pragma once

// What the contenders' times are made of: the wait alone, the computation alone, both in one thread.

#include "waiting.hpp"

namespace toll::cachecalc {

/// One wait after another, nothing else.
template <class Wait>
class WaitOnly {
public:
    static constexpr std::uint64_t computations_per_task = 0;

    explicit WaitOnly(const Inputs& inputs) { require_one_thread(inputs, "one wait after the other"); }
    void run(Load& load) const {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.wait_begins(task);
            wait_(load.wait());
            load.wait_ended(task);
        }
    }
    [[nodiscard]] static Footing footing() { return {{"waits", Wait::how}}; }

private:
    [[no_unique_address]] Wait wait_;
};

}  // namespace toll::cachecalc
