#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <memory_resource>

struct PmrSynchronizedPool {
    std::pmr::synchronized_pool_resource resource;
    void* allocate(std::size_t bytes) { return resource.allocate(bytes); }
    void deallocate(void* place, std::size_t bytes) { resource.deallocate(place, bytes); }
};

using Contender = toll::allocate::AnyBytes<PmrSynchronizedPool>;
TOLL_CONTENDER(allocate, pmr_synchronized_pool, Contender);
TOLL_CONTENDER(allocate_throughput, pmr_synchronized_pool, Contender);
