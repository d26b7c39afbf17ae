#include "boost_fiber.hpp"

using BoostFiberWorkStealingProtected =
    toll::skynet::BoostFiber<toll::skynet::WorkStealing, toll::skynet::Join, toll::skynet::ProtectedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_stealing_protected, BoostFiberWorkStealingProtected);
