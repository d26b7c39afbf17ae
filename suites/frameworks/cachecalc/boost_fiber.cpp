#include "workload.hpp"

#include <boost/fiber/all.hpp>

#include <vector>

/// A fiber for each task, all in one thread: nothing interrupts a computation, so none needs a lock.
struct BoostFiber {
    static constexpr std::size_t stack_bytes = 16'384;

    explicit BoostFiber(const toll::cachecalc::Inputs& inputs) {
        toll::cachecalc::require_one_thread(inputs, "fibers run in one thread here");
    }

    void run(toll::cachecalc::Load& load) {
        std::vector<boost::fibers::fiber> fibers;
        fibers.reserve(load.tasks());
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            fibers.emplace_back(boost::fibers::launch::post, std::allocator_arg, stacks_, [&load, task] {
                load.compute();
                load.wait_begins(task);
                boost::this_fiber::sleep_for(load.wait());
                load.wait_ended(task);
                load.compute();
            });
        }
        for (boost::fibers::fiber& fiber : fibers) { fiber.join(); }
    }
    static toll::Footing footing() { return {{"waits", "fiber sleeps; the thread runs others"}}; }

    boost::fibers::pooled_fixedsize_stack stacks_{stack_bytes};
};

TOLL_CONTENDER(cachecalc, boost_fiber, BoostFiber);
