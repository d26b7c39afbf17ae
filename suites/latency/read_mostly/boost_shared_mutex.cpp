#include "workload.hpp"

#include <boost/thread/shared_mutex.hpp>

using BoostSharedMutex = toll::read_mostly::Guarded<boost::shared_mutex>;

TOLL_CONTENDER(read_mostly, boost_shared_mutex, BoostSharedMutex);
