#include "workload.hpp"

#include <folly/SharedMutex.h>

using FollySharedMutex = toll::read_mostly::Guarded<folly::SharedMutex>;

TOLL_CONTENDER(read_mostly, folly_shared_mutex, FollySharedMutex);
