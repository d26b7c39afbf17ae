#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"
#include "pool_allocator.hpp"

template <class T>
struct TollPoolAllocator {
    static constexpr bool one_thread = true;
    toll::pool_allocator<T> allocator;
    void* allocate(std::size_t /*bytes*/) { return allocator.allocate(1); }
    void deallocate(void* place, std::size_t /*bytes*/) { allocator.deallocate(static_cast<T*>(place), 1); }
};

using Contender = toll::allocate::TypedBytes<TollPoolAllocator>;
TOLL_CONTENDER(allocate, toll_pool_allocator, Contender);
TOLL_CONTENDER(allocate_throughput, toll_pool_allocator, Contender);
