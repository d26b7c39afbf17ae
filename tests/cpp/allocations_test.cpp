// Run with libtoll_allocations.so preloaded (tests/cpp/CMakeLists.txt), once alone and once with
// another allocator behind it.
#include "toll/allocations.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "toll/errors.hpp"
#include "toll/keep.hpp"

namespace {

template <class Work>
toll::AllocationCounts counted(Work&& work) {
    toll::start_counting_allocations();
    work();
    return toll::stop_counting_allocations();
}

struct alignas(256) Wide {
    char bytes[256];
};

}  // namespace

TEST_CASE("without the library there is no count, and the message names it") {
    CHECK_FALSE(toll::can_count_allocations());
    CHECK_THROWS_WITH_AS(toll::start_counting_allocations(), doctest::Contains("libtoll_allocations.so"),
                         toll::Unsupported);
}

TEST_CASE("nothing is counted where nothing is allocated") {
    REQUIRE(toll::can_count_allocations());
    const auto seen = counted([] {});
    CHECK(seen.calls == 0);
    CHECK(seen.bytes == 0);
    CHECK(seen.peak_bytes == 0);
}

TEST_CASE("every member of malloc's family is one call, its bytes as requested") {
    const auto seen = counted([] {
        void* blocks[] = {std::malloc(10), std::calloc(3, 7), std::aligned_alloc(64, 128), memalign(32, 5),
                          valloc(11)};
        void* posix = nullptr;
        CHECK(posix_memalign(&posix, 128, 13) == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(posix) % 128 == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(blocks[2]) % 64 == 0);
        void* grown = std::realloc(std::malloc(1), 1000);
        for (void* block : blocks) { std::free(block); }
        std::free(posix);
        std::free(grown);
        std::free(nullptr);
    });
    CHECK(seen.calls == 8);
    CHECK(seen.bytes == 10 + 21 + 128 + 5 + 11 + 13 + 1 + 1000);
}

TEST_CASE("operator new in all its forms is one call") {
    const auto seen = counted([] {
        auto* one = new int(1);
        auto* many = new char[100];
        auto* silent = new (std::nothrow) long(2);
        auto* wide = new Wide;
        auto* wides = new Wide[2];
        // A compiler may leave out a new-expression whose block nobody looks at.
        for (const void* block :
             {static_cast<void*>(one), static_cast<void*>(many), static_cast<void*>(silent),
              static_cast<void*>(wide), static_cast<void*>(wides)}) {
            toll::keep(block);
        }
        CHECK(reinterpret_cast<std::uintptr_t>(wide) % 256 == 0);
        delete one;
        delete[] many;
        delete silent;
        delete wide;
        delete[] wides;
    });
    CHECK(seen.calls == 5);
    CHECK(seen.bytes == sizeof(int) + 100 + sizeof(long) + 3 * sizeof(Wide));
}

TEST_CASE("failed allocations are not counted; operator new throws and nothrow does not") {
    const volatile std::size_t huge = std::size_t{1} << 62;
    const auto seen = counted([&] {
        CHECK(std::malloc(huge) == nullptr);
        CHECK(std::calloc(huge, 16) == nullptr);
        CHECK(operator new(huge, std::nothrow) == nullptr);
        bool threw = false;
        try {
            toll::keep(operator new(huge));
        } catch (const std::bad_alloc&) { threw = true; }
        CHECK(threw);
    });
    CHECK(seen.bytes < 10'000);  // the exception itself lies on the heap
}

TEST_CASE("the peak is what was live at once beyond the start") {
    void* earlier = std::malloc(1 << 20);
    const auto seen = counted([&] {
        for (int i = 0; i < 10; ++i) { std::free(std::malloc(50'000)); }
        std::free(earlier);  // below the start: no peak
        void* first = std::malloc(300'000);
        void* second = std::malloc(300'000);
        std::free(first);
        std::free(second);
    });
    CHECK(seen.calls == 12);
    CHECK(seen.peak_bytes >= 50'000);
    CHECK(seen.peak_bytes < 60'000);
    const auto both = counted([] {
        void* first = std::malloc(300'000);
        first = std::realloc(first, 600'000);
        void* second = std::malloc(300'000);
        std::free(first);
        std::free(second);
    });
    CHECK(both.peak_bytes >= 900'000);
    CHECK(both.peak_bytes < 920'000);
}

TEST_CASE("calls of all threads are counted, none lost") {
    constexpr int threads = 4;
    constexpr std::uint64_t each = 20'000;
    const auto thread_alone = counted([] { std::thread([] {}).join(); });
    const auto seen = counted([] {
        std::vector<std::thread> all;
        all.reserve(threads);
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([] {
                for (std::uint64_t i = 0; i < each; ++i) { std::free(std::malloc(16)); }
            });
        }
        for (std::thread& thread : all) { thread.join(); }
    });
    const std::uint64_t around = 1 + threads * thread_alone.calls;  // the vector, and making threads
    CHECK(seen.calls >= threads * each);
    CHECK(seen.calls <= threads * each + around);
}

TEST_CASE("the provider of malloc is named with the library") {
    const bool other = std::getenv("TOLL_TEST_OTHER") != nullptr;
    CHECK(toll::malloc_provider() == (other ? "libtoll_other_allocator.so" : "glibc"));
}

TEST_CASE("an allocator behind the library serves what is counted") {
    if (std::getenv("TOLL_TEST_OTHER") == nullptr) { return; }
    auto* const served = reinterpret_cast<unsigned long (*)()>(dlsym(RTLD_DEFAULT, "other_allocator_served"));
    REQUIRE((served != nullptr));
    const unsigned long before = served();
    const auto seen = counted([] {
        std::free(std::malloc(10));
        auto* one = new int(1);  // reaches malloc, not the other allocator's own operator new
        toll::keep(one);
        delete one;
    });
    const unsigned long after = served();
    CHECK(seen.calls == 2);
    CHECK(after - before == 2);
}
