#include "boost_fiber.hpp"

using BoostFiberRoundRobinDetach =
    toll::skynet::BoostFiber<toll::skynet::RoundRobin, toll::skynet::Detach, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_round_robin_detach, BoostFiberRoundRobinDetach);
