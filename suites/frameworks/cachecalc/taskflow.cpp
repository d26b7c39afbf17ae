#include "countdown.hpp"
#include "timer_thread.hpp"

#include <taskflow/taskflow.hpp>

#include <cstdint>
#include <functional>
#include <mutex>

/// Two asynchronous tasks for each task, one before its wait and one after it. A task that waits may have its
/// thread run others meanwhile (corun_until), on top of its own stack: too many here. A mutex serializes
/// computations.
struct Taskflow {
    explicit Taskflow(const toll::cachecalc::Inputs& inputs) : executor_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        load_ = &load;
        left_ = &left;
        for (std::uint64_t i = 0; i < load.tasks(); ++i) {
            executor_.silent_async([this, i] {
                compute();
                load_->wait_begins(i);
                timer_.resume_after(load_->wait(), i);
            });
        }
        left.wait();
    }

    static toll::Footing footing() {
        return {
            {"waits", "task has ended; one more thread sleeps until the next is due and makes another task"}};
    }

private:
    void go_on(std::uint64_t task) {
        executor_.silent_async([this, task] {
            load_->wait_ended(task);
            compute();
            left_->count_down();
        });
    }

    void compute() {
        const std::scoped_lock lock{mutex_};
        load_->compute();
    }

    tf::Executor executor_;
    std::mutex mutex_;
    toll::cachecalc::Load* load_ = nullptr;
    toll::cachecalc::Countdown* left_ = nullptr;
    toll::cachecalc::TimerThread<std::uint64_t> timer_{std::bind_front(&Taskflow::go_on, this)};
};

TOLL_CONTENDER(cachecalc, taskflow, Taskflow);
