#include "array_read/workload.hpp"
#include "array_update/workload.hpp"
#include "shared/data_vector.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <sstream>
#include <string_view>
#include <vector>

using toll::arrays::Access;
using toll::arrays::AnySize;
using toll::arrays::Checks;
using toll::arrays::Element;
using toll::arrays::FixedSizes;

namespace {

template <std::size_t N>
using StdArray = std::array<Element, N>;
template <std::size_t N>
using NativeArray = Element[N];

/// A vector that loses the last element's updates.
struct Forgetful : std::vector<Element> {
    using vector::vector;
    Element& operator[](std::size_t index) {
        if (index + 1 == size()) { return lost = back(); }
        return vector::operator[](index);
    }
    const Element& operator[](std::size_t index) const { return vector::operator[](index); }
    Element lost = 0;
};

/// A vector that reads its first element for the second one.
struct Mistaken : std::vector<Element> {
    using vector::vector;
    Element& operator[](std::size_t index) { return vector::operator[](index); }
    const Element& operator[](std::size_t index) const { return vector::operator[](index == 1 ? 0 : index); }
};

template <class W>
W made(std::vector<std::string_view> words) {
    return W(toll::Arguments(W::parameters(), words));
}

using Vector = AnySize<std::vector<Element>, Checks::standard_container>;

template <toll::arrays::Family F>
void check_update(std::vector<std::string_view> words) {
    auto workload = made<toll::array_update::Workload<F>>(std::move(words));
    for (const std::uint64_t iterations : {1U, 3U, 7U}) {
        CHECK(workload.run(iterations) == workload.expected(iterations));
    }
}

template <toll::arrays::Family F, Access access>
void check_read(std::vector<std::string_view> words) {
    auto workload = made<toll::array_read::Workload<F, access>>(std::move(words));
    for (const std::uint64_t iterations : {1U, 3U}) {
        CHECK(workload.run(iterations) == workload.expected(iterations));
    }
}

}  // namespace

TEST_CASE("every container counts the same updates") {
    check_update<Vector>({"rounds=3"});
    check_update<Vector>({"size=1", "rounds=2"});
    check_update<AnySize<std::deque<Element>, Checks::standard_container>>({"size=1000", "rounds=30"});
    check_update<AnySize<std::span<Element>, Checks::standard_array>>({"rounds=3"});
    check_update<AnySize<toll::DataVector<Element>, Checks::none>>({"rounds=3"});
    check_update<FixedSizes<StdArray, Checks::standard_array>>({"size=4096", "rounds=90"});
    check_update<FixedSizes<NativeArray, Checks::none>>({"rounds=3"});
}

TEST_CASE("every access reads the same sum") {
    check_read<Vector, Access::index>({"rounds=5"});
    check_read<Vector, Access::at>({"rounds=5"});
    check_read<Vector, Access::iterator>({"rounds=5"});
    check_read<Vector, Access::range_for>({"size=101", "rounds=5"});
    check_read<FixedSizes<StdArray, Checks::standard_array>, Access::at>({"rounds=5"});
    check_read<FixedSizes<NativeArray, Checks::none>, Access::iterator>({"size=4096", "rounds=41"});
}

TEST_CASE("answers that need more than 32 bits wrap around like the elements") {
    check_update<Vector>({"size=1", "rounds=1000"});  // 100,000 rounds: 1 + 2 + ... is beyond 2^32
    check_read<Vector, Access::index>({"size=100000", "rounds=1000"});
}

TEST_CASE("one lost update is a wrong answer") {
    auto workload = made<toll::array_update::Workload<AnySize<Forgetful, Checks::none>>>({"rounds=2"});
    (void)workload.run(1);
    CHECK_THROWS_WITH_AS((void)workload.expected(1), "element 99 holds 99, not 102", toll::WrongAnswer);
}

TEST_CASE("one wrong read is a wrong answer") {
    using Reads = toll::array_read::Workload<AnySize<Mistaken, Checks::none>, Access::index>;
    auto workload = made<Reads>({"rounds=2"});
    CHECK(workload.run(1) + 2 == workload.expected(1));
}

TEST_CASE("an iteration is the same work for every size") {
    CHECK(toll::arrays::passes(8000, 100) == 8000);
    CHECK(toll::arrays::passes(8000, 1000) == 800);
    CHECK(toll::arrays::passes(8000, 3) == 266'667);
    CHECK(toll::arrays::passes(8000, 134'217'728) == 1);
    auto workload = made<toll::array_update::Workload<Vector>>({"size=1000", "rounds=30"});
    CHECK(workload.units_per_iteration() == 3000);
}

TEST_CASE("a size that a type cannot have is unsupported, with those that it can") {
    using Fixed = toll::array_update::Workload<FixedSizes<StdArray, Checks::standard_array>>;
    CHECK_THROWS_WITH_AS(made<Fixed>({"size=101"}),
                         doctest::Contains("compiled for 100, 4096, 65536, 1048576, 16777216, 134217728 "
                                           "elements, not for 101"),
                         toll::Unsupported);
    CHECK_THROWS_AS(made<toll::array_update::Workload<Vector>>({"size=0"}), toll::UsageError);
}

TEST_CASE("footing says which checks are in force") {
    CHECK(std::string_view(bounds_checks(Checks::none, Access::index)) == "none");
    CHECK(std::string_view(bounds_checks(Checks::standard_container, Access::at)) == "at()");
    CHECK(std::string_view(bounds_checks(Checks::boost, Access::at)) == "at()");
    const std::string_view indexed = bounds_checks(Checks::standard_container, Access::index);
    const std::string_view iterated = bounds_checks(Checks::standard_container, Access::iterator);
    const std::string_view pointed = bounds_checks(Checks::standard_array, Access::iterator);
    CHECK(pointed == "none");
#if defined(_GLIBCXX_DEBUG)
    CHECK(indexed == "_GLIBCXX_DEBUG");
    CHECK(iterated == "_GLIBCXX_DEBUG");
#elif defined(_GLIBCXX_ASSERTIONS)
    CHECK(indexed == "_GLIBCXX_ASSERTIONS");
    CHECK(iterated == "none");
#else
    CHECK(iterated == "none");
#if !defined(_LIBCPP_VERSION)
    CHECK(indexed == "none");
#endif
#endif
}

TEST_CASE("what was found is a number in reports, where it is one") {
    CHECK(toll::arrays::simd_width("no") == toll::Details{{"simd_bytes", 0.0}});
    CHECK(toll::arrays::simd_width("32 bytes") == toll::Details{{"simd_bytes", 32.0}});
    CHECK(toll::arrays::simd_width("SVE registers").empty());
    CHECK(toll::arrays::simd_width("unknown").empty());
}

TEST_CASE("a loop is found by its address") {
    const auto here = reinterpret_cast<const void*>(&toll::arrays::load_address);
    std::ostringstream lines;
    lines << std::hex << 0x10 << " no\n"
          << reinterpret_cast<std::uintptr_t>(here) - toll::arrays::load_address() << " 32 bytes\n";
    std::istringstream loops(lines.str());
    CHECK(toll::arrays::vectorized(here, loops) == "32 bytes");
    std::istringstream others("10 no\n");
    CHECK(toll::arrays::vectorized(here, others) == "unknown");
    CHECK(toll::arrays::vectorized(here) == "unknown");  // nothing lies beside this program
}
