#include "uring.hpp"

#include <cerrno>
#include <chrono>
#include <deque>
#include <system_error>

/// One thread, its ring, and a queue of the tasks that wait, as event loops over io_uring have one: the
/// kernel is asked to wait for the first of them alone. All waits are alike, so that a queue is in order.
struct IoUringTimerQueue {
    using Clock = std::chrono::steady_clock;

    explicit IoUringTimerQueue(const toll::cachecalc::Inputs& inputs)
        : ring_(toll::cachecalc::ring_for(inputs, 8)) {}

    void run(toll::cachecalc::Load& load) {
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.compute();
            load.wait_begins(task);
            waiting_.push_back({Clock::now() + load.wait(), task});
        }
        while (!waiting_.empty()) {
            const auto [due, task] = waiting_.front();
            if (const auto left = due - Clock::now(); left > Clock::duration::zero()) {
                sleep(left);
                continue;
            }
            waiting_.pop_front();
            load.wait_ended(task);
            load.compute();
        }
    }
    [[nodiscard]] toll::Footing footing() const {
        return {{"waits", "a queue of the thread's, whose ring waits for the first; the thread runs others"},
                {"completions", ring_.completions()}};
    }

private:
    struct Waiting {
        Clock::time_point due;
        std::uint64_t task;
    };

    void sleep(Clock::duration left) {
        __kernel_timespec time = toll::cachecalc::timespec_of(left);
        io_uring_cqe* done = nullptr;
        const int error = ::io_uring_submit_and_wait_timeout(ring_.get(), &done, 1, &time, nullptr);
        if (error < 0 && error != -ETIME && error != -EINTR) {
            throw std::system_error(-error, std::generic_category(), "io_uring");
        }
    }

    toll::OneThreadRing ring_;
    std::deque<Waiting> waiting_;
};

TOLL_CONTENDER(cachecalc, io_uring_timer_queue, IoUringTimerQueue);
