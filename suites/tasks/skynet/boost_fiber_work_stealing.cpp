#include "boost_fiber.hpp"
#include "boost_fiber_workers.hpp"

struct BoostFiberWorkStealing {
    /// Boost.Fiber counts the schedulers of a process in a static variable and never forgets one.
    static constexpr bool once_per_process = true;

    explicit BoostFiberWorkStealing(const toll::skynet::Inputs& inputs)
        : workers_(inputs.threads, [threads = inputs.threads] {
              boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(threads);
          }) {}

    std::uint64_t run(toll::skynet::Subtree root) { return toll::skynet::fiber_sum(stacks_, root); }

    boost::fibers::fixedsize_stack stacks_{toll::skynet::fiber_stack_bytes};
    toll::skynet::FiberWorkers workers_;
};

TOLL_CONTENDER(skynet, boost_fiber_work_stealing, BoostFiberWorkStealing);
