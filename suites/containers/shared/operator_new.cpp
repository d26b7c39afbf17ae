#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <new>

struct OperatorNew {
    static void* allocate(std::size_t bytes) { return ::operator new(bytes); }
    static void deallocate(void* place, [[maybe_unused]] std::size_t bytes) {
#if defined(__cpp_sized_deallocation)
        ::operator delete(place, bytes);
#else
        ::operator delete(place);
#endif
    }
};

using Contender = toll::allocate::AnyBytes<OperatorNew>;
TOLL_CONTENDER(allocate, operator_new, Contender);
TOLL_CONTENDER(allocate_throughput, operator_new, Contender);
