#include "pools.hpp"

using SimpleThreadPool =
    toll::cachecalc::PostedToNew<toll::cachecalc::SimplePool, toll::cachecalc::ReadDevZero>;

TOLL_CONTENDER(cachecalc, simple_thread_pool, SimpleThreadPool);
