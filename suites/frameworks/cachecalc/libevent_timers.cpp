#include "workload.hpp"

#include <event2/event.h>
#include <event2/event_struct.h>

#include <memory>
#include <stdexcept>
#include <vector>

/// One thread and its loop: an event for each task, which begins active and then has a timeout. All timeouts
/// are alike, which libevent keeps in a queue instead of a heap where it is told.
class LibeventTimers {
public:
    explicit LibeventTimers(const toll::cachecalc::Inputs& inputs)
        : tasks_(inputs.tasks), base_(made(), &::event_base_free) {
        toll::cachecalc::require_one_thread(inputs, "the event loop has one thread");
        // libevent's time has whole microseconds: one more, else a wait could end within its last one.
        const auto asked_us = inputs.wait.count() == 0 ? 0 : inputs.wait.count() + 1;
        const timeval wait{.tv_sec = asked_us / 1'000'000, .tv_usec = asked_us % 1'000'000};
        common_wait_ = ::event_base_init_common_timeout(base_.get(), &wait);
        if (common_wait_ == nullptr) { throw std::runtime_error("libevent keeps no common timeout"); }
    }

    void run(toll::cachecalc::Load& load) {
        load_ = &load;
        for (Task& task : tasks_) {
            task.all = this;
            event_assign(&task.event, base_.get(), -1, 0, begin, &task);
            ::event_active(&task.event, EV_TIMEOUT, 0);
        }
        if (::event_base_dispatch(base_.get()) < 0) { throw std::runtime_error("libevent's loop failed"); }
    }
    static toll::Footing footing() { return {{"waits", "timeouts of one queue; the thread runs others"}}; }

private:
    struct Task {
        ::event event{};
        LibeventTimers* all = nullptr;
    };

    static event_base* made() {
        const std::unique_ptr<event_config, decltype(&::event_config_free)> config(::event_config_new(),
                                                                                   &::event_config_free);
        // The clock is read where a timeout is asked for: by the loop's, which is of before the callbacks,
        // waits would be too short. Precise: epoll_wait alone has whole milliseconds.
        const int flags =
            EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_PRECISE_TIMER;
        event_base* base = nullptr;
        if (config != nullptr && ::event_config_set_flag(config.get(), flags) == 0) {
            base = ::event_base_new_with_config(config.get());
        }
        if (base == nullptr) { throw std::runtime_error("libevent made no loop"); }
        return base;
    }

    [[nodiscard]] std::uint64_t number_of(const Task& task) const {
        return static_cast<std::uint64_t>(&task - tasks_.data());
    }

    static void begin(evutil_socket_t, short, void* argument) {
        Task& task = *static_cast<Task*>(argument);
        LibeventTimers& all = *task.all;
        all.load_->compute();
        event_assign(&task.event, all.base_.get(), -1, 0, go_on, &task);
        all.load_->wait_begins(all.number_of(task));
        ::event_add(&task.event, all.common_wait_);
    }
    static void go_on(evutil_socket_t, short, void* argument) {
        const Task& task = *static_cast<const Task*>(argument);
        task.all->load_->wait_ended(task.all->number_of(task));
        task.all->load_->compute();
    }

    std::vector<Task> tasks_;  // which the loop still looks at while it is freed
    std::unique_ptr<event_base, decltype(&::event_base_free)> base_;
    const timeval* common_wait_ = nullptr;
    toll::cachecalc::Load* load_ = nullptr;
};

TOLL_CONTENDER(cachecalc, libevent_timers, LibeventTimers);
