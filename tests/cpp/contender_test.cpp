#include "toll/contender.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>

namespace toll::made {

template <class C>
struct Workload {
    static constexpr WorkloadInfo info{"test/made", Kind::samples, "ns", "step"};
    static std::vector<Parameter> parameters() { return {{"size", "4", "", ""}}; }
    explicit Workload(const Arguments& arguments) : contender(make_contender<C>(arguments)) {}
    void before_batch() { before = true; }
    void after_batch() noexcept { before = false; }
    Checksum sample(std::span<float>, const Clock&) {
        return before ? 2 * contender.size() : contender.size();
    }
    [[nodiscard]] Checksum expected(std::uint64_t) const { return 4; }
    [[nodiscard]] Footing footing() const {
        Footing footing{{"threads", 2U}, {"pinned_cpus", "0,1"}, {"stack_bytes", std::size_t{16384}}};
        footing.set({"threads", 3});
        return footing;
    }
    C contender;
    bool before = false;
};

struct FromArguments {
    explicit FromArguments(const Arguments& arguments) : size_(arguments.number("size")) {}
    [[nodiscard]] std::uint64_t size() const { return size_; }
    std::uint64_t size_;
};

struct Immovable {
    std::mutex mutex;
    [[nodiscard]] static std::uint64_t size() { return 4; }
};

}  // namespace toll::made

TOLL_CONTENDER(made, from_arguments, toll::made::FromArguments);
TOLL_CONTENDER(made, immovable, toll::made::Immovable);

namespace {

const toll::Contender& named(std::string_view name) {
    const auto all = toll::contenders();
    const auto found = std::ranges::find(all, name, &toll::Contender::name);
    REQUIRE(found != all.end());
    return *found;
}

}  // namespace

TEST_CASE("a contender is known by its line, with the standard library's version") {
    const toll::Contender& contender = named("from_arguments");
    CHECK(contender.workload.name == "test/made");
    CHECK(contender.workload.kind == toll::Kind::samples);
    CHECK(contender.library.name == "std");
    CHECK(contender.library.version.find("lib") == 0);
    CHECK(contender.library.version.find_first_of("0123456789") != std::string_view::npos);
    CHECK(contender.parameters().size() == 1);
}

TEST_CASE("contenders are made from arguments where they take them, in place where they cannot move") {
    for (const std::string_view name : {"from_arguments", "immovable"}) {
        const toll::Contender& contender = named(name);
        const auto parameters = contender.parameters();
        const auto state = contender.make(toll::Arguments(parameters, {}));
        CHECK(state->sample({}, toll::FakeClock()) == state->expected(1));
        CHECK(state->units_per_iteration() == 1);
        CHECK_THROWS_AS(state->run(1), toll::UsageError);
    }
}

TEST_CASE("what a workload does around a batch reaches it, and who has nothing to do does nothing") {
    const toll::Contender& contender = named("from_arguments");
    const auto state = contender.make(toll::Arguments(contender.parameters(), {}));
    state->before_batch();
    CHECK(state->sample({}, toll::FakeClock()) == 2 * state->expected(1));
    state->after_batch();
    CHECK(state->sample({}, toll::FakeClock()) == state->expected(1));
    CHECK(contender.scope == toll::Scope::process);
}

TEST_CASE("a footing keeps numbers as numbers and the last word") {
    const toll::Contender& contender = named("immovable");
    const auto state = contender.make(toll::Arguments(contender.parameters(), {}));
    const toll::Footing footing = state->footing();
    CHECK(std::get<std::int64_t>(footing.all().at("threads")) == 3);
    CHECK(std::get<std::int64_t>(footing.all().at("stack_bytes")) == 16384);
    CHECK(std::get<std::string>(footing.all().at("pinned_cpus")) == "0,1");
}
