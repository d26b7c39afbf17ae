// A program whose contenders do what their names say: tests/cpp/test_protocol.py talks to it.
#define TOLL_LIBRARY "fixture"
#define TOLL_LIBRARY_VERSION "1"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#include "toll/batch.hpp"
#include "toll/contender.hpp"
#include "toll/sample.hpp"

namespace toll::fixture {

template <class C>
concept Step = requires(C contender, std::uint64_t step) {
    { contender.step(step) } -> std::convertible_to<std::uint64_t>;
};

template <class C>
struct Described {
    static std::vector<Parameter> parameters() {
        return {{"step", "3", "", "what each step adds"},
                {"text", "none", "", "shown in the footing"},
                {"many", "cpus", "CPUs", "how many there are"}};
    }
    explicit Described(const Arguments& arguments)
        : step(arguments.number("step")), text(arguments.text("text")), many(arguments.number("many")) {}
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations * step; }
    [[nodiscard]] Footing footing() const { return {{"text", text}, {"many", many}}; }

    std::uint64_t step;
    std::string text;
    std::uint64_t many;
    C contender;
};

}  // namespace toll::fixture

namespace toll::in_batches {

template <fixture::Step C>
struct Workload : fixture::Described<C> {
    static constexpr WorkloadInfo info{"test/batch", Kind::batch, "ns", "step"};
    using fixture::Described<C>::Described;
    Checksum run(std::uint64_t iterations) {
        return repeat(iterations, [this] { return this->contender.step(this->step); });
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 2; }
    [[nodiscard]] Details details() const
        requires requires(const C& told) { told.details(); }
    {
        return this->contender.details();
    }
};

}  // namespace toll::in_batches

namespace toll::one_by_one {

template <fixture::Step C>
struct Workload : fixture::Described<C> {
    static constexpr WorkloadInfo info{"test/samples", Kind::samples, "ns", "step"};
    using fixture::Described<C>::Described;
    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        std::size_t untimed = 0;
        if constexpr (requires { C::untimed; }) { untimed = C::untimed; }
        const auto timed = nanoseconds.first(nanoseconds.size() - untimed);
        return time_each(timed, clock, [this] { return this->contender.step(this->step); }) + untimed;
    }
    // One answer of 1 per step, whatever its size: apart from the batch's, to see which was asked.
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] std::vector<Cell> cells() const
        requires requires(const C& told) { told.cells(); }
    {
        return this->contender.cells();
    }
};

}  // namespace toll::one_by_one

namespace {

using u64 = std::uint64_t;

struct Counts {
    u64 step(u64 size) { return size; }
};
struct CountsOne {
    u64 step(u64) { return 1; }
};
struct Prints {
    u64 step(u64 size) {
        if (printed++ == 0) {
            std::puts("a contender's own words");
            std::fflush(stdout);
        }
        return size;
    }
    int printed = 0;
};
struct Allocates {
    u64 step(u64 size) {
        const auto hundred = std::make_unique<char[]>(100);
        toll::keep(hundred);
        const auto some = std::make_unique<char[]>(28);
        toll::keep(some);
        return size;
    }
};
struct Throws {
    u64 step(u64) { throw std::runtime_error("a plain failure"); }
};
struct ThrowsOdd {
    u64 step(u64) { throw 42; }
};
struct Lies {  // only once: a single wrong answer must show in the sum
    u64 step(u64) { return lied++ == 0 ? 2 : 1; }
    int lied = 0;
};
struct TimedLies {
    u64 step(u64) { return lied++ == 0 ? 0 : 1; }
    int lied = 0;
};
struct LeavesOneUntimed : CountsOne {
    static constexpr std::size_t untimed = 1;
};
struct Tells {  // how far it has counted: about the request just answered
    u64 step(u64 size) {
        sum += size;
        return size;
    }
    [[nodiscard]] toll::Details details() const {
        return {{"counted", static_cast<double>(sum)}, {"debt", -0.5}};
    }
    u64 sum = 0;
};
struct TellsCells {
    u64 step(u64) { return ++steps, 1; }
    [[nodiscard]] std::vector<toll::Cell> cells() const {
        return {{.key = "0>1", .count = 2}, {.key = "1>0", .count = steps - 2}};
    }
    u64 steps = 0;
};
struct Cannot {
    Cannot() { throw toll::Unsupported("not on this machine"); }
    u64 step(u64 size) { return size; }
};
struct ExhaustsMemory {
    u64 step(u64) { throw std::bad_alloc(); }
};
struct ExhaustsThreads {  // what std::thread throws where pthread_create returns EAGAIN
    u64 step(u64) {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
};
struct OtherSystemError {
    u64 step(u64) { throw std::system_error(EACCES, std::generic_category()); }
};
struct BrokenText {
    u64 step(u64) { throw std::runtime_error("not UTF-8: \xff"); }
};

}  // namespace

TOLL_CONTENDER(in_batches, counts, Counts);
TOLL_CONTENDER(in_batches, prints, Prints);
TOLL_CONTENDER(in_batches, allocates, Allocates);
TOLL_CONTENDER(in_batches, tells, Tells);
TOLL_CONTENDER(in_batches, throws, Throws);
TOLL_CONTENDER(in_batches, throws_odd, ThrowsOdd);
TOLL_CONTENDER(in_batches, lies, Lies);
TOLL_CONTENDER(in_batches, cannot, Cannot);
TOLL_CONTENDER(in_batches, exhausts_memory, ExhaustsMemory);
TOLL_CONTENDER(in_batches, exhausts_threads, ExhaustsThreads);
TOLL_CONTENDER(in_batches, other_system_error, OtherSystemError);
TOLL_CONTENDER(in_batches, broken_text, BrokenText);
TOLL_CONTENDER(one_by_one, timed_counts, CountsOne);
TOLL_CONTENDER(one_by_one, timed_cells, TellsCells);
TOLL_CONTENDER(one_by_one, timed_lies, TimedLies);
TOLL_CONTENDER(one_by_one, timed_but_one, LeavesOneUntimed);
