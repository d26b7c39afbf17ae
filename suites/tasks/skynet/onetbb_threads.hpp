#pragma once

#include "pins.hpp"
#include "workload.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <atomic>
#include <chrono>
#include <thread>

namespace toll::skynet {

/// As many threads as were asked for. An arena alone gets no more workers than the machine has CPUs: oneTBB
/// warns on standard error, and 4 threads on 2 CPUs would be 2.
class OneTbbThreads {
public:
    explicit OneTbbThreads(const Inputs& inputs)
        : pins_(inputs),
          allowed_(tbb::global_control::max_allowed_parallelism, inputs.threads),
          arena_(static_cast<int>(inputs.threads)),
          tying_(arena_, pins_) {
        if (!pins_.wanted()) { return; }
        tying_.observe(true);
        bring_all(inputs.threads);
        pins_.tie_caller();  // last, so that no worker begins on its CPU
    }
    OneTbbThreads(const OneTbbThreads&) = delete;
    OneTbbThreads& operator=(const OneTbbThreads&) = delete;
    ~OneTbbThreads() { tying_.observe(false); }

    /// In the arena; the calling thread works too.
    template <class Work>
    auto execute(const Work& work) {
        const auto result = arena_.execute(work);
        pins_.rethrow();
        return result;
    }

    [[nodiscard]] const Pins& pins() const noexcept { return pins_; }

private:
    /// oneTBB's own way. A thread that finds nothing to do leaves the arena, and may come back to another
    /// place in it: each place has its CPU, and each arrival ties anew. The calling thread's is the first,
    /// tied already.
    class Tying : public tbb::task_scheduler_observer {
    public:
        Tying(tbb::task_arena& arena, Pins& pins) : task_scheduler_observer(arena), pins_(pins) {}

        void on_scheduler_entry(bool is_worker) override {
            if (is_worker) { pins_.tie(static_cast<unsigned>(tbb::this_task_arena::current_thread_index())); }
        }

    private:
        Pins& pins_;
    };

    /// Workers come when there is work: each thread is kept in a task until all are in one. oneTBB promises
    /// none of them, so not for ever; check() tells how many came.
    void bring_all(unsigned threads) {
        std::atomic<unsigned> there{0};
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        const auto wait = [&] {
            ++there;
            while (there < threads && std::chrono::steady_clock::now() < give_up) {
                std::this_thread::yield();
            }
        };
        arena_.execute([&] {
            tbb::task_group group;
            for (unsigned i = 1; i < threads; ++i) { group.run(wait); }
            group.run_and_wait(wait);
        });
    }

    Pins pins_;
    tbb::global_control allowed_;
    tbb::task_arena arena_;
    Tying tying_;
};

}  // namespace toll::skynet
