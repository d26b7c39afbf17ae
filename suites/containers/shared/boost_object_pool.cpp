#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <boost/pool/object_pool.hpp>
#include <new>

// Its free list is in the order of addresses: giving back one object walks the list.
template <class T>
struct ObjectPool {
    static constexpr bool one_thread = true;
    boost::object_pool<T> pool;
    void* allocate(std::size_t /*bytes*/) {
        T* place = pool.malloc();
        if (place == nullptr) { throw std::bad_alloc(); }
        return place;
    }
    void deallocate(void* place, std::size_t /*bytes*/) { pool.free(static_cast<T*>(place)); }
};

using Contender = toll::allocate::TypedBytes<ObjectPool>;
TOLL_CONTENDER(allocate, boost_object_pool, Contender);
TOLL_CONTENDER(allocate_throughput, boost_object_pool, Contender);
