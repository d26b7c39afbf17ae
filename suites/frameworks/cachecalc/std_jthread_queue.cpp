#include "pools.hpp"

using StdJthreadQueue = toll::cachecalc::Posted<toll::cachecalc::StopTokenPool, toll::cachecalc::Sleep>;

TOLL_CONTENDER(cachecalc, std_jthread_queue, StdJthreadQueue);
