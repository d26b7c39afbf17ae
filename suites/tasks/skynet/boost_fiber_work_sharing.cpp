#include "boost_fiber.hpp"

using BoostFiberWorkSharing =
    toll::skynet::BoostFiber<toll::skynet::WorkSharing, toll::skynet::Join, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_sharing, BoostFiberWorkSharing);
