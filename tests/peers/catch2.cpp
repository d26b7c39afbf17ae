// The operations as a Catch2 executable, a test case and a benchmark each; PEERS_SLOWDOWN is the slow-down in
// per mille. Of version 2 or 3, whichever header is there.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#endif

#include "slowed.hpp"

#include <cstdint>
#include <type_traits>

TEMPLATE_TEST_CASE("operation", "", toll::operations::HashMapLookUp, toll::operations::TreeLookUp,
                   toll::operations::AtomicAdd, toll::operations::UncontendedLock,
                   toll::operations::NewDelete, toll::operations::ShortString, toll::operations::Sort512,
                   toll::operations::Sum4096, toll::operations::AllocationHeavy,
                   toll::operations::MemoryBound) {
    const double share = peers::share_of("PEERS_SLOWDOWN");
    peers::for_each_operation([share]<class O>(const char* name, std::uint64_t calls) {
        if constexpr (std::is_same_v<O, TestType>) {
            O operation;
            BENCHMARK(name) {
                peers::block(operation, calls, share);
            };
        }
    });
}
