#pragma once

#include "waiting.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace toll::cachecalc {

/// Threads made for the iteration and joined at its end; each has an equal part of the tasks, as in the
/// document.
template <class Wait>
class Threads {
public:
    explicit Threads(const Inputs& inputs) : threads_(inputs.threads) {}

    void run(Load& load) {
        std::vector<std::jthread> threads;
        threads.reserve(threads_);
        for (unsigned i = 0; i < threads_; ++i) {
            threads.emplace_back([this, &load, i] {
                const std::uint64_t end = load.tasks() * (i + 1) / threads_;
                for (std::uint64_t task = load.tasks() * i / threads_; task < end; ++task) {
                    task_(load, task);
                }
            });
        }
    }
    [[nodiscard]] Footing footing() const { return task_.footing(); }

private:
    unsigned threads_;
    BlockingTask<Wait> task_;
};

}  // namespace toll::cachecalc
