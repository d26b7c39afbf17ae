#include "boost_fiber.hpp"

using BoostFiberRoundRobinFuture =
    toll::skynet::BoostFiber<toll::skynet::RoundRobin, toll::skynet::Future, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_round_robin_future, BoostFiberRoundRobinFuture);
