#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <boost/pool/pool_alloc.hpp>

// One pool for all threads, behind a mutex.
template <class T>
struct FastPoolAllocator {
    static void* allocate(std::size_t /*bytes*/) { return boost::fast_pool_allocator<T>::allocate(); }
    static void deallocate(void* place, std::size_t /*bytes*/) {
        boost::fast_pool_allocator<T>::deallocate(static_cast<T*>(place));
    }
};

using Contender = toll::allocate::TypedBytes<FastPoolAllocator>;
TOLL_CONTENDER(allocate, boost_fast_pool_allocator, Contender);
TOLL_CONTENDER(allocate_throughput, boost_fast_pool_allocator, Contender);
