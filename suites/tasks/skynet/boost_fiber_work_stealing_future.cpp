#include "boost_fiber.hpp"

using BoostFiberWorkStealingFuture =
    toll::skynet::BoostFiber<toll::skynet::WorkStealing, toll::skynet::Future, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_stealing_future, BoostFiberWorkStealingFuture);
