#include "boost_fiber.hpp"

using BoostFiberRoundRobinProtected =
    toll::skynet::BoostFiber<toll::skynet::RoundRobin, toll::skynet::Join, toll::skynet::ProtectedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_round_robin_protected, BoostFiberRoundRobinProtected);
