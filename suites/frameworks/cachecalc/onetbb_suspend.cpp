#include "countdown.hpp"
#include "timer_thread.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

/// Tasks that suspend themselves while they wait; a timer thread resumes them. A mutex serializes
/// computations.
struct OneTbbSuspend {
    explicit OneTbbSuspend(const toll::cachecalc::Inputs& inputs)
        : allowed_(tbb::global_control::max_allowed_parallelism, inputs.threads),
          arena_(static_cast<int>(inputs.threads)) {}

    void run(toll::cachecalc::Load& load) {
        arena_.execute([&] {
            tbb::task_group group;
            for (std::uint64_t i = 0; i < load.tasks(); ++i) {
                group.run([this, &load, i] { task(load, i); });
            }
            group.wait();
        });
    }
    void task(toll::cachecalc::Load& load, std::uint64_t number) {
        compute(load);
        load.wait_begins(number);
        tbb::task::suspend([&](tbb::task::suspend_point point) { timer_.resume_after(load.wait(), point); });
        load.wait_ended(number);
        compute(load);
    }
    void compute(toll::cachecalc::Load& load) {
        const std::scoped_lock lock{mutex_};
        load.compute();
    }
    static toll::Footing footing() {
        return {{"waits", "task suspended; one more thread sleeps until the next is due"}};
    }

    tbb::global_control allowed_;
    tbb::task_arena arena_;
    std::mutex mutex_;
    toll::cachecalc::TimerThread<tbb::task::suspend_point> timer_{tbb::task::resume};
};

TOLL_CONTENDER(cachecalc, onetbb_suspend, OneTbbSuspend);
