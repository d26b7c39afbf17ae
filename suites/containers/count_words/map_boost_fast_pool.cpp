#include "standard.hpp"
#include "workload.hpp"

#include <boost/pool/pool_alloc.hpp>

// One pool a block size for the whole process, behind a mutex.
template <class T>
using FastPool = boost::fast_pool_allocator<T>;

TOLL_CONTENDER(count_words, map_boost_fast_pool, toll::count_words::Keyed<toll::count_words::Map, FastPool>);
