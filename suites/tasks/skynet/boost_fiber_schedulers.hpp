#pragma once

#include "../shared/one_thread.hpp"
#include "pins.hpp"
#include "workload.hpp"

#include <atomic>
#include <boost/fiber/all.hpp>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace toll::skynet {

/// This thread and `threads - 1` more under one Boost.Fiber scheduling algorithm, tied where that is asked
/// for. The workers' main fibers sleep until the end; their schedulers run other fibers meanwhile.
class FiberWorkers {
public:
    /// `schedule` installs the algorithm in the calling thread; it is called once in each thread.
    template <class Schedule>
    FiberWorkers(const Inputs& inputs, Schedule schedule) : pins_(inputs), missing_(inputs.threads - 1) {
        try {
            for (unsigned i = 1; i < inputs.threads; ++i) {
                workers_.emplace_back([this, schedule, i] {
                    all_made_.wait(Made::unknown);
                    if (all_made_ == Made::no) { return; }
                    pins_.tie(i);
                    schedule();
                    missing_.count_down();
                    std::unique_lock lock{mutex_};
                    end_.wait(lock, [this] { return ended_; });
                });
            }
        } catch (...) {
            tell(Made::no);  // a machine that is out of threads: those that exist must be joined
            end();
            throw;
        }
        // Not before all are made: work stealing holds each thread until all others have come.
        tell(Made::yes);
        pins_.tie_caller();
        schedule();
        missing_.wait();  // else the workers' start would fall into the first timed part
    }
    FiberWorkers(const FiberWorkers&) = delete;
    FiberWorkers& operator=(const FiberWorkers&) = delete;
    ~FiberWorkers() { end(); }

    [[nodiscard]] const Pins& pins() const noexcept { return pins_; }

private:
    enum class Made { unknown, yes, no };

    void tell(Made made) {
        all_made_ = made;
        all_made_.notify_all();
    }
    void end() {
        std::unique_lock lock{mutex_};
        ended_ = true;
        lock.unlock();
        end_.notify_all();
        for (std::thread& worker : workers_) { worker.join(); }
    }

    Pins pins_;
    std::atomic<Made> all_made_{Made::unknown};
    std::latch missing_;  ///< workers that cannot run fibers yet
    std::mutex mutex_;
    boost::fibers::condition_variable_any end_;
    bool ended_ = false;
    std::vector<std::thread> workers_;
};

/// Boost.Fiber's default: a queue for each thread, no migration.
struct RoundRobin {
    explicit RoundRobin(const Inputs& inputs) : tied_(inputs) {
        require_one_thread(inputs.threads, "round robin schedules one thread");
        tied_.tie_caller();
    }

    [[nodiscard]] const Pins& pins() const noexcept { return tied_; }

private:
    Pins tied_;
};

/// One queue for all threads, behind a mutex.
struct WorkSharing {
    explicit WorkSharing(const Inputs& inputs)
        : workers_(inputs,
                   [] { boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>(); }) {}

    [[nodiscard]] const Pins& pins() const noexcept { return workers_.pins(); }

private:
    FiberWorkers workers_;
};

/// A queue for each thread; a thread whose queue is empty takes from another's.
struct WorkStealing {
    /// Boost.Fiber counts these schedulers in a static variable and never forgets one.
    static constexpr bool once_per_process = true;

    explicit WorkStealing(const Inputs& inputs)
        : workers_(inputs, [threads = inputs.threads] {
              boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(threads);
          }) {}

    [[nodiscard]] const Pins& pins() const noexcept { return workers_.pins(); }

private:
    FiberWorkers workers_;
};

}  // namespace toll::skynet
