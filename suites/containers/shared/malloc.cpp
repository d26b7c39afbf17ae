#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <cstdlib>
#include <new>

struct Malloc {
    static void* allocate(std::size_t bytes) {
        void* place = std::malloc(bytes);
        if (place == nullptr) { throw std::bad_alloc(); }
        return place;
    }
    static void deallocate(void* place, std::size_t /*bytes*/) { std::free(place); }
};

using Contender = toll::allocate::AnyBytes<Malloc>;
TOLL_CONTENDER(allocate, malloc, Contender);
TOLL_CONTENDER(allocate_throughput, malloc, Contender);
