#pragma once

#include "workload.hpp"

#include <atomic>
#include <boost/fiber/all.hpp>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace toll::skynet {

/// This thread and `threads - 1` more under one Boost.Fiber scheduling algorithm. The workers' main fibers
/// sleep until the end; their schedulers run other fibers meanwhile.
class FiberWorkers {
public:
    /// `schedule` installs the algorithm in the calling thread; it is called once in each thread.
    template <class Schedule>
    FiberWorkers(unsigned threads, Schedule schedule) : missing_(threads - 1) {
        try {
            for (unsigned i = 1; i < threads; ++i) {
                workers_.emplace_back([this, schedule] {
                    all_made_.wait(Made::unknown);
                    if (all_made_ == Made::no) { return; }
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
        schedule();
        missing_.wait();  // else the workers' start would fall into the first timed part
    }
    FiberWorkers(const FiberWorkers&) = delete;
    FiberWorkers& operator=(const FiberWorkers&) = delete;
    ~FiberWorkers() { end(); }

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

    std::atomic<Made> all_made_{Made::unknown};
    std::latch missing_;  ///< workers that cannot run fibers yet
    std::mutex mutex_;
    boost::fibers::condition_variable_any end_;
    bool ended_ = false;
    std::vector<std::thread> workers_;
};

/// Boost.Fiber's default: a queue for each thread, no migration.
struct RoundRobin {
    explicit RoundRobin(const Inputs& inputs) {
        require_one_thread(inputs, "round robin schedules one thread");
    }
};

/// One queue for all threads, behind a mutex.
struct WorkSharing {
    explicit WorkSharing(const Inputs& inputs)
        : workers(inputs.threads,
                  [] { boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>(); }) {}

    FiberWorkers workers;
};

/// A queue for each thread; a thread whose queue is empty takes from another's.
struct WorkStealing {
    /// Boost.Fiber counts these schedulers in a static variable and never forgets one.
    static constexpr bool once_per_process = true;

    explicit WorkStealing(const Inputs& inputs)
        : workers(inputs.threads, [threads = inputs.threads] {
              boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(threads);
          }) {}

    FiberWorkers workers;
};

}  // namespace toll::skynet
