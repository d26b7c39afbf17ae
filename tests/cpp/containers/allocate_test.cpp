// containers/allocate and containers/allocate_throughput: what the rows stand on.
#include "allocate/workload.hpp"

#include <toll/threads.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

struct Malloc {
    static void* allocate(std::size_t bytes) {
        if (void* const place = std::malloc(bytes)) { return place; }  // NOLINT(*-no-malloc)
        throw std::bad_alloc();
    }
    static void deallocate(void* place, std::size_t) { std::free(place); }  // NOLINT(*-no-malloc)
};

using Workload = toll::allocate::Workload<toll::allocate::AnyBytes<Malloc>>;

Workload made(std::string_view operation, std::string_view pattern) {
    static const auto parameters = Workload::parameters();
    const std::array<std::string_view, 3> words{operation, pattern, "live=100"};
    return Workload(toll::Arguments(parameters, words));
}

std::string text(const toll::Footing& footing, const char* name) {
    const auto& all = footing.all();
    const auto found = all.find(name);
    return found == all.end() ? "" : std::get<std::string>(found->second);
}

}  // namespace

TEST_CASE("the C library believes that the process has threads") {
    auto workload = made("operation=allocate", "pattern=same_thread");
    const std::string seen = text(workload.footing(), "second_thread");
    CAPTURE(seen);
    CHECK(seen.starts_with("asleep"));
}

TEST_CASE("who gives blocks back elsewhere is on another core where there is one") {
    if (toll::usable_cpus().size() < 2) {
        MESSAGE("not checked: needs two CPUs");
        return;
    }
    auto workload = made("operation=free", "pattern=other_thread");
    CHECK(text(workload.footing(), "second_thread").empty());
    CHECK(text(workload.footing(), "placement") != "same_core");
    toll::latency::Topology topology;
    const auto pair = toll::latency::choose_pair("auto", toll::usable_cpus(), topology);
    CHECK(text(workload.footing(), "pinned_cpus") == toll::cpu_list(pair.cpus));
}

TEST_CASE("a row says how many blocks lived while its calls were timed") {
    const toll::Clock clock = toll::Clock::system();
    for (const std::string_view operation : {"operation=allocate", "operation=free"}) {
        auto workload = made(operation, "pattern=same_thread");
        for (const std::size_t calls : {30UL, 100UL, 250UL}) {
            std::vector<float> nanoseconds(calls);
            CHECK(workload.sample(nanoseconds, clock) == calls);
            CHECK(workload.details().at("most_live") == (calls < 100 ? 30 : 100));
        }
    }
}
