#include "boost_fiber.hpp"

using BoostFiberRoundRobinPooled =
    toll::skynet::BoostFiber<toll::skynet::RoundRobin, toll::skynet::Join, toll::skynet::PooledStacks>;

TOLL_CONTENDER(skynet, boost_fiber_round_robin_pooled, BoostFiberRoundRobinPooled);
