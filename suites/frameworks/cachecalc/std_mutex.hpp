#pragma once

#include "waiting.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace toll::cachecalc {

/// Threads made for the iteration and joined at its end; each takes the next task until none is left.
template <class Wait>
class Threads {
public:
    explicit Threads(const Inputs& inputs) : threads_(inputs.threads) {}

    void run(Load& load) {
        std::atomic<std::uint64_t> next{0};
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < threads_; ++i) {
            threads.emplace_back([&] {
                for (std::uint64_t task = 0;
                     (task = next.fetch_add(1, std::memory_order_relaxed)) < load.tasks();) {
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
