#pragma once

#include <toll/errors.hpp>

#include <tmc/ex_cpu.hpp>
#include <tmc/sync.hpp>
#include <tmc/task.hpp>

#include <functional>
#include <string>
#include <utility>

namespace toll {

/// As many worker threads as were asked for; the calling thread waits.
class TooManyCooksThreads {
public:
    using Strategy = tmc::work_stealing_strategy;

    explicit TooManyCooksThreads(unsigned threads)
        : TooManyCooksThreads(threads, nullptr, Strategy::HIERARCHY_MATRIX) {}

    /// Each thread calls `begins` with its number (0, 1 ...) first.
    TooManyCooksThreads(unsigned threads, std::function<void(std::size_t)> begins, Strategy strategy) {
        if (threads > most_threads) {
            throw Unsupported("TooManyCooks has at most " + std::to_string(most_threads) +
                              " threads where it is not compiled with TMC_MORE_THREADS");
        }
        if (begins) { executor_.set_thread_init_hook(std::move(begins)); }
        executor_.set_thread_count(threads).set_work_stealing_strategy(strategy).init();
    }

    template <class Result>
    Result execute(tmc::task<Result> task) {
        return tmc::post_waitable(executor_, std::move(task)).get();
    }

private:
    static constexpr unsigned most_threads = 64;

    tmc::ex_cpu executor_;
};

}  // namespace toll
