#include "toll/arguments.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "toll/errors.hpp"
#include "toll/threads.hpp"

namespace {

const std::vector<toll::Parameter> parameters{{"tasks", "100000", "leaf tasks", "leaves of the tree"},
                                              {"threads", "cpus", "threads", "that run the tasks"},
                                              {"mode", "parked", "", "how the waiter waits"}};

toll::Arguments given(std::vector<std::string_view> words) {
    return {parameters, words};
}

}  // namespace

TEST_CASE("defaults hold where nothing is given") {
    const toll::Arguments arguments = given({});
    CHECK(arguments.number("tasks") == 100'000);
    CHECK(arguments.number("threads") == toll::usable_cpus().size());
    CHECK(arguments.text("mode") == "parked");
    CHECK(arguments.all().size() == 3);
}

TEST_CASE("words overlay them") {
    const toll::Arguments arguments = given({"tasks=10", "mode=hot=1", "threads=18446744073709551615"});
    CHECK(arguments.number("tasks") == 10);
    CHECK(arguments.text("mode") == "hot=1");
    CHECK(arguments.number("threads") == ~std::uint64_t{0});
    CHECK(given({"mode="}).text("mode").empty());
}

TEST_CASE("ranges hold at both ends") {
    const toll::Arguments arguments = given({"tasks=10"});
    CHECK(arguments.number("tasks", 10, 10) == 10);
    CHECK_THROWS_AS((void)arguments.number("tasks", 11), toll::UsageError);
    CHECK_THROWS_AS((void)arguments.number("tasks", 1, 9), toll::UsageError);
    CHECK_THROWS_AS((void)given({"tasks=0"}).number("tasks"), toll::UsageError);
    CHECK(given({"tasks=0"}).number("tasks", 0) == 0);
}

TEST_CASE("a parameter that the workload does not declare is its mistake, and is said") {
    CHECK_THROWS_WITH_AS((void)given({}).number("colour"), doctest::Contains("colour"), toll::UsageError);
}
