#include "boost_fiber.hpp"

using BoostFiberWorkStealingPooled =
    toll::skynet::BoostFiber<toll::skynet::WorkStealing, toll::skynet::Join, toll::skynet::PooledStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_stealing_pooled, BoostFiberWorkStealingPooled);
