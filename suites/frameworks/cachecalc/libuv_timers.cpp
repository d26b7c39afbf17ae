#include "workload.hpp"

#include <uv.h>

#include <stdexcept>
#include <string>
#include <vector>

/// One thread and its loop, a timer for each task. Its timers have whole milliseconds and count from the
/// loop's time, which has too: one more than the wait's, rounded up, is never too short.
class LibuvTimers {
public:
    explicit LibuvTimers(const toll::cachecalc::Inputs& inputs)
        : wait_ms_(inputs.wait.count() == 0
                       ? 0
                       : static_cast<std::uint64_t>((inputs.wait.count() + 999) / 1'000) + 1) {
        toll::cachecalc::require_one_thread(inputs, "the loop has one thread");
        check(::uv_loop_init(&loop_), "uv_loop_init");
        tasks_.resize(inputs.tasks);
        for (Task& task : tasks_) {
            task.all = this;
            ::uv_timer_init(&loop_, &task.timer);
            task.timer.data = &task;
        }
    }
    LibuvTimers(const LibuvTimers&) = delete;
    LibuvTimers& operator=(const LibuvTimers&) = delete;
    ~LibuvTimers() {
        for (Task& task : tasks_) {
            ::uv_close(reinterpret_cast<uv_handle_t*>(&task.timer), nullptr);  // NOLINT: libuv's way
        }
        ::uv_run(&loop_, UV_RUN_DEFAULT);
        ::uv_loop_close(&loop_);
    }

    void run(toll::cachecalc::Load& load) {
        load_ = &load;
        for (Task& task : tasks_) {
            load.compute();
            load.wait_begins(number_of(task));
            ::uv_update_time(&loop_);
            ::uv_timer_start(&task.timer, go_on, wait_ms_, 0);
        }
        ::uv_run(&loop_, UV_RUN_DEFAULT);
    }
    [[nodiscard]] toll::Footing footing() const {
        return {{"waits",
                 "timers of whole milliseconds: " + std::to_string(wait_ms_) + "; the thread runs others"}};
    }

private:
    struct Task {
        uv_timer_t timer{};
        LibuvTimers* all = nullptr;
    };

    static void check(int error, const char* what) {
        if (error < 0) { throw std::runtime_error(std::string(what) + ": " + ::uv_strerror(error)); }
    }

    [[nodiscard]] std::uint64_t number_of(const Task& task) const {
        return static_cast<std::uint64_t>(&task - tasks_.data());
    }

    static void go_on(uv_timer_t* timer) {
        const Task& task = *static_cast<const Task*>(timer->data);
        task.all->load_->wait_ended(task.all->number_of(task));
        task.all->load_->compute();
    }

    std::uint64_t wait_ms_;
    uv_loop_t loop_{};
    std::vector<Task> tasks_;
    toll::cachecalc::Load* load_ = nullptr;
};

TOLL_CONTENDER(cachecalc, libuv_timers, LibuvTimers);
