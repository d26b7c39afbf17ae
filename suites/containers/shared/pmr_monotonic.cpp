#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <memory_resource>

struct PmrMonotonic {
    static constexpr bool one_thread = true;
    std::pmr::monotonic_buffer_resource resource;
    void* allocate(std::size_t bytes) { return resource.allocate(bytes); }
    void deallocate(void* place, std::size_t bytes) { resource.deallocate(place, bytes); }
    void all_freed() { resource.release(); }
};

using Contender = toll::allocate::AnyBytes<PmrMonotonic>;
TOLL_CONTENDER(allocate, pmr_monotonic, Contender);
TOLL_CONTENDER(allocate_throughput, pmr_monotonic, Contender);
