#include "boost_fiber.hpp"

using BoostFiberRoundRobin =
    toll::skynet::BoostFiber<toll::skynet::RoundRobin, toll::skynet::Join, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_round_robin, BoostFiberRoundRobin);
