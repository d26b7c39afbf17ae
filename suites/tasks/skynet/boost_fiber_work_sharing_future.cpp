#include "boost_fiber.hpp"

using BoostFiberWorkSharingFuture =
    toll::skynet::BoostFiber<toll::skynet::WorkSharing, toll::skynet::Future, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_sharing_future, BoostFiberWorkSharingFuture);
