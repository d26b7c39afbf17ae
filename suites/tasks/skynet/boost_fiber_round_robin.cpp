#include "boost_fiber.hpp"

struct BoostFiberRoundRobin {
    explicit BoostFiberRoundRobin(const toll::skynet::Inputs& inputs) {
        if (inputs.threads != 1) { throw toll::Unsupported("round robin schedules one thread; ask for threads=1"); }
    }

    std::uint64_t run(toll::skynet::Subtree root) { return toll::skynet::fiber_sum(stacks_, root); }

    boost::fibers::fixedsize_stack stacks_{toll::skynet::fiber_stack_bytes};
};

TOLL_CONTENDER(skynet, boost_fiber_round_robin, BoostFiberRoundRobin);
