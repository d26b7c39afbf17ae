#include "boost_fiber.hpp"

using BoostFiberWorkStealingDetach =
    toll::skynet::BoostFiber<toll::skynet::WorkStealing, toll::skynet::Detach, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_stealing_detach, BoostFiberWorkStealingDetach);
