#pragma once

#include "../shared/fiber_workers.hpp"
#include "../shared/one_thread.hpp"
#include "pins.hpp"
#include "workload.hpp"

#include <boost/fiber/all.hpp>

namespace toll::skynet {

/// The workers of one algorithm, tied where that is asked for.
class TiedFiberWorkers {
public:
    /// `schedule` installs the algorithm in the calling thread.
    template <class Schedule>
    TiedFiberWorkers(const Inputs& inputs, Schedule schedule)
        : pins_(inputs), workers_(inputs.threads, [this, schedule](unsigned worker) {
              if (worker == 0) {
                  pins_.tie_caller();
              } else {
                  pins_.tie(worker);
              }
              schedule();
          }) {}

    [[nodiscard]] const Pins& pins() const noexcept { return pins_; }

private:
    Pins pins_;
    FiberWorkers workers_;
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
    TiedFiberWorkers workers_;
};

/// A queue for each thread; a thread whose queue is empty takes from another's.
struct WorkStealing {
    static constexpr bool once_per_process = WorkStealingFibers::once_per_process;

    explicit WorkStealing(const Inputs& inputs)
        : workers_(inputs, [threads = inputs.threads] {
              boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(threads);
          }) {}

    [[nodiscard]] const Pins& pins() const noexcept { return workers_.pins(); }

private:
    TiedFiberWorkers workers_;
};

}  // namespace toll::skynet
