#include "boost_fiber.hpp"

using BoostFiberWorkStealing =
    toll::skynet::BoostFiber<toll::skynet::WorkStealing, toll::skynet::Join, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_stealing, BoostFiberWorkStealing);
