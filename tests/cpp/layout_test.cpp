#include "toll/layout.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace {

[[maybe_unused]] std::uintptr_t stack_address(std::size_t shift) {
    return toll::with_stack_shifted(shift, [] {
        char here = 0;
        const char* address = &here;
        toll::keep_changed(address);  // else Clang warns of a pointer that outlives its frame
        return reinterpret_cast<std::uintptr_t>(address);
    });
}

/// Where the heap puts a small block under one seed after another, each made as a launch makes it.
std::set<std::uintptr_t> heap_addresses(std::uint64_t seeds) {
    std::set<std::uintptr_t> seen;
    std::optional<toll::Layout> layout;
    std::unique_ptr<char[]> block;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        block.reset();
        toll::Layout next(seed);
        block = std::make_unique<char[]>(200);
        toll::keep(block);
        seen.insert(reinterpret_cast<std::uintptr_t>(block.get()));
        layout = std::move(next);
    }
    return seen;
}

}  // namespace

TEST_CASE("the same seed is the same layout") {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{991}, ~std::uint64_t{0}}) {
        CHECK(toll::Layout(seed).stack_shift_bytes() == toll::Layout(seed).stack_shift_bytes());
        CHECK(toll::Layout(seed).heap_blocks() == toll::Layout(seed).heap_blocks());
    }
}

TEST_CASE("shifts are multiples of 16, up to 4 KiB, and seeds spread over all of them") {
    std::set<std::size_t> seen;
    for (std::uint64_t seed = 0; seed < 5000; ++seed) {
        const std::size_t shift = toll::Layout(seed).stack_shift_bytes();
        REQUIRE(shift % 16 == 0);
        REQUIRE(shift <= 4096);
        seen.insert(shift);
    }
    CHECK(seen.size() == 4096 / 16 + 1);
    CHECK(*seen.begin() == 0);
    CHECK(*seen.rbegin() == 4096);
}

// The address sanitizer keeps locals on a stack of its own, where shifts do not show.
#if !TOLL_ADDRESS_SANITIZER
TEST_CASE("the stack really moves down, by what was asked") {
    const std::uintptr_t origin = stack_address(0);
    for (const std::size_t shift : {16U, 32U, 160U, 2048U, 4096U}) {
        CHECK(origin - stack_address(shift) == shift);
    }
}
#endif

TEST_CASE("the heap really moves") {
    CHECK(heap_addresses(50).size() > 10);
}

TEST_CASE("results and exceptions pass through the shift") {
    CHECK(toll::with_stack_shifted(64, [] { return 42; }) == 42);
    CHECK_THROWS_AS(toll::with_stack_shifted(64, [] { throw 7; }), int);
}
