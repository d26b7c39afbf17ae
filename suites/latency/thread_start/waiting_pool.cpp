#include "waiting_pool.hpp"

TOLL_CONTENDER(thread_start, waiting_pool, toll::thread_start::PooledTask<toll::thread_start::WaitingPool>);
