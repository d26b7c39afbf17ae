// What a workload tells the library, and what it must offer (docs/architecture.md).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "toll/arguments.hpp"
#include "toll/clock.hpp"
#include "toll/errors.hpp"

namespace toll {

/// The sum of every iteration's answer, modulo 2^64.
using Checksum = std::uint64_t;

/// How a workload's operations are timed.
enum class Kind {
    batch,    // a timed group of iterations
    samples,  // operations timed one by one
};

struct WorkloadInfo {
    std::string_view name;  // "tasks/skynet", the folder under suites/
    Kind kind;
    std::string_view unit;  // of the value: "ns"
    std::string_view per;   // what one unit of work is: "task"
};

/// The library that a contender shows.
struct Library {
    std::string_view name;     // as a reader calls it: "Boost.Fiber"
    std::string_view version;  // "1.74.0"
};

/// What a contender was seen to stand on: threads, stack_bytes, pinned_cpus ...
class Footing {
public:
    using Value = std::variant<std::int64_t, std::string>;

    struct Entry {
        template <std::integral T>
        Entry(std::string_view entry_name, T number)
            : name(entry_name), value(static_cast<std::int64_t>(number)) {}
        Entry(std::string_view entry_name, std::string text) : name(entry_name), value(std::move(text)) {}
        Entry(std::string_view entry_name, const char* text) : name(entry_name), value(std::string(text)) {}
        std::string name;
        Value value;
    };

    Footing() = default;
    Footing(std::initializer_list<Entry> entries) {
        for (const Entry& entry : entries) { set(entry); }
    }
    void set(const Entry& entry) { values_.insert_or_assign(entry.name, entry.value); }
    [[nodiscard]] const std::map<std::string, Value>& all() const noexcept { return values_; }

private:
    std::map<std::string, Value> values_;
};

/// Numbers about the request just answered besides its time: {{"longest_wait_ns", 123.0}}. The workload's
/// suite.toml declares each name. Finite.
using Details = std::map<std::string, double>;

/// What consecutive samples belong to, such as a pair of CPUs.
struct Cell {
    std::string key;  // "0>1"
    std::uint64_t count = 0;
};

/// What every workload offers beside its timed part. It may also offer, all asked after each timed request:
///   Details details() const;
///   std::vector<Cell> cells() const;   // Kind::samples: the counts add up to the samples
///   Resources used_elsewhere() const;  // CPU time, switches and faults of other processes that worked for
///   it
template <class W>
concept DescribedWorkload = std::destructible<W> && std::constructible_from<W, const Arguments&> &&
                            requires(const W& workload, std::uint64_t iterations) {
                                { W::info } -> std::convertible_to<const WorkloadInfo&>;
                                { W::parameters() } -> std::convertible_to<std::vector<Parameter>>;
                                { workload.expected(iterations) } -> std::convertible_to<Checksum>;
                                { workload.footing() } -> std::convertible_to<Footing>;
                            };

/// Kind::batch: run() is timed as a whole.
template <class W>
concept BatchWorkload =
    DescribedWorkload<W> && requires(W& workload, const W& constant, std::uint64_t iterations) {
        { workload.run(iterations) } -> std::convertible_to<Checksum>;
        { constant.units_per_iteration() } -> std::convertible_to<std::uint64_t>;
    };

/// Kind::samples: sample() times one operation an entry.
template <class W>
concept SampleWorkload =
    DescribedWorkload<W> && requires(W& workload, std::span<float> nanoseconds, const Clock& clock) {
        { workload.sample(nanoseconds, clock) } -> std::convertible_to<Checksum>;
    };

/// Makes a contender in place: from the launch's arguments where it takes them, else by default.
template <class C>
[[nodiscard]] C make_contender(const Arguments& arguments) {
    if constexpr (std::constructible_from<C, const Arguments&>) {
        return C(arguments);
    } else {
        static_assert(std::default_initializable<C>,
                      "a contender must be constructible from const toll::Arguments& or from nothing");
        return C();
    }
}

}  // namespace toll
