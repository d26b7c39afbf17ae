#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <boost/pool/pool.hpp>
#include <new>

struct BoostPool {
    static constexpr bool one_thread = true;
    explicit BoostPool(std::size_t bytes) : pool(bytes) {}
    boost::pool<> pool;
    void* allocate(std::size_t /*bytes*/) {
        void* place = pool.malloc();
        if (place == nullptr) { throw std::bad_alloc(); }
        return place;
    }
    void deallocate(void* place, std::size_t /*bytes*/) { pool.free(place); }
};

using Contender = toll::allocate::AnyBytes<BoostPool>;
TOLL_CONTENDER(allocate, boost_pool, Contender);
TOLL_CONTENDER(allocate_throughput, boost_pool, Contender);
