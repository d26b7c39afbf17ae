#include "pools.hpp"

using SimpleThreadPoolSleep = toll::cachecalc::Posted<toll::cachecalc::SimplePool, toll::cachecalc::Sleep>;

TOLL_CONTENDER(cachecalc, simple_thread_pool_sleep, SimpleThreadPoolSleep);
