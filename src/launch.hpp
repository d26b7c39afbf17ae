// One contender alive in this process, and the requests that it can be asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "toll/allocations.hpp"
#include "toll/batch.hpp"
#include "toll/contender.hpp"
#include "toll/layout.hpp"

namespace toll {

/// Throws UsageError, with what this program does offer, where there is no such contender. An empty
/// workload matches any.
[[nodiscard]] const Contender& find_contender(std::string_view workload, std::string_view name);

class Launch {
public:
    // Beyond these a request is a mistake: JSON numbers lose bits above 2^53, and 400 MB of samples
    // take longer to read than a launch may last.
    static constexpr std::uint64_t most_iterations = std::uint64_t{1} << 53;
    static constexpr std::uint64_t most_samples = 100'000'000;

    /// Calibrates the clock, opens the counters, then makes the contender's state.
    Launch(const Contender& contender, std::span<const std::string_view> words);

    using Seed = std::optional<std::uint64_t>;

    /// Each re-makes state, stack and heap where `layout` is given, times the contender, and throws
    /// WrongAnswer where its checksum is not the expected one.
    [[nodiscard]] Batch batch(std::uint64_t iterations, Seed layout);
    [[nodiscard]] Batch samples(std::uint64_t count, Seed layout);
    [[nodiscard]] AllocationCounts allocations(std::uint64_t iterations, Batch& counted);

    /// The times of the last samples() in nanoseconds.
    [[nodiscard]] std::span<const float> nanoseconds() const noexcept { return nanoseconds_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const Contender& contender() const noexcept { return contender_; }
    [[nodiscard]] Footing footing() const { return state_->footing(); }
    [[nodiscard]] std::int64_t setup_ns() const noexcept { return setup_ns_; }
    [[nodiscard]] std::int64_t process_ns() const noexcept { return process_ns_; }
    /// Ends the contender: its threads and memory are gone afterwards.
    void end() noexcept { state_.reset(); }

private:
    void arrange(Seed layout);
    void require(Kind kind, std::uint64_t amount, std::uint64_t most) const;
    void fill_in(Batch& batch, std::uint64_t iterations) const;
    [[nodiscard]] std::size_t stack_shift() const noexcept;

    const Contender& contender_;
    Clock clock_;
    Counters counters_;
    std::vector<Parameter> parameters_;
    Arguments arguments_;
    std::int64_t process_ns_;
    std::optional<Layout> layout_;
    std::unique_ptr<State> state_;
    std::int64_t setup_ns_ = 0;
    std::vector<float> nanoseconds_;
};

}  // namespace toll
