#include "boost_fiber.hpp"

using BoostFiberWorkSharingPooled =
    toll::skynet::BoostFiber<toll::skynet::WorkSharing, toll::skynet::Join, toll::skynet::PooledStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_sharing_pooled, BoostFiberWorkSharingPooled);
