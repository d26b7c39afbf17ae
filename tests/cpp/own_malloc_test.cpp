// Brings a malloc of its own, as Seastar does; run with libtoll_allocations.so preloaded.
#include <toll/allocations.hpp>
#include <toll/errors.hpp>

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <cstddef>

extern "C" void* malloc(std::size_t bytes) {
    static auto* const next = reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_NEXT, "malloc"));
    return next(bytes);
}

TEST_CASE("where the counter is not asked, it says so and counts nothing") {
    REQUIRE(toll::can_count_allocations());
    CHECK_THROWS_WITH_AS(toll::start_counting_allocations(),
                         "allocations cannot be counted: the program brings a malloc of its own, which comes "
                         "before the counting library",
                         toll::Unsupported);
    CHECK(toll::malloc_provider() == "toll_own_malloc_test");
}
