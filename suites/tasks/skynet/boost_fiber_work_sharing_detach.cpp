#include "boost_fiber.hpp"

using BoostFiberWorkSharingDetach =
    toll::skynet::BoostFiber<toll::skynet::WorkSharing, toll::skynet::Detach, toll::skynet::FixedStacks>;

TOLL_CONTENDER(skynet, boost_fiber_work_sharing_detach, BoostFiberWorkSharingDetach);
