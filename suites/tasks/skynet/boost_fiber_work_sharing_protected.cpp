#include "boost_fiber.hpp"

using BoostFiberWorkSharingProtected =
    toll::skynet::BoostFiber<toll::skynet::WorkSharing, toll::skynet::Join, toll::skynet::ProtectedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_sharing_protected, BoostFiberWorkSharingProtected);
