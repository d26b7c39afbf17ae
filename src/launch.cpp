#include "launch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "gauge.hpp"

namespace toll {
namespace {

/// What a workload does around each timed part, however that ends.
class Around {
public:
    explicit Around(State& state) : state_(state) { state_.before_batch(); }
    Around(const Around&) = delete;
    Around& operator=(const Around&) = delete;
    ~Around() { state_.after_batch(); }

private:
    State& state_;
};

/// What no operation takes: so that one that nobody timed is told from one that took no time.
constexpr float not_timed = std::numeric_limits<float>::quiet_NaN();

}  // namespace

const Contender& find_contender(std::string_view workload, std::string_view name) {
    std::string offered;
    for (const Contender& contender : contenders()) {
        const bool fits = workload.empty() || contender.workload.name == workload;
        if (fits && contender.name == name) { return contender; }
        offered += (offered.empty() ? "" : ", ") + std::string(contender.workload.name) + " " +
                   std::string(contender.name);
    }
    throw UsageError("this program does not offer '" + (workload.empty() ? "" : std::string(workload) + " ") +
                     std::string(name) + "'; it offers " + (offered.empty() ? "nothing" : offered));
}

Launch::Launch(const Contender& contender, std::span<const std::string_view> words)
    : contender_(contender),
      clock_(Clock::system()),
      counters_(Counters::from_environment()),
      parameters_(contender.parameters()),
      arguments_(parameters_, words),
      process_ns_(Resources::at_stop().cpu_ns) {
    const Ticks from = clock_.start();
    state_ = contender_.make(arguments_);
    setup_ns_ = static_cast<std::int64_t>(clock_.elapsed_ns(from, clock_.stop()));
}

void Launch::arrange(Seed seed) {
    if (!seed) { return; }
    if (contender_.once_per_process) {
        layout_.emplace(*seed);
        return;
    }
    // In this order: the new layout takes some of the places that the old state gave back, and the
    // old layout holds its own until the new state has found others.
    state_.reset();
    Layout next(*seed);
    with_stack_shifted(next.stack_shift_bytes(), [&] { state_ = contender_.make(arguments_); });
    layout_ = std::move(next);
}

std::size_t Launch::stack_shift() const noexcept {
    return layout_ ? layout_->stack_shift_bytes() : 0;
}

void Launch::require(Kind kind, std::uint64_t amount, std::uint64_t most) const {
    const bool batch = kind == Kind::batch;
    if (contender_.workload.kind != kind) {
        throw UsageError(std::string(contender_.workload.name) + " answers `" +
                         (batch ? "samples" : "batch") + "`, not `" + (batch ? "batch" : "samples") + "`");
    }
    if (amount < 1 || amount > most) {
        throw UsageError(std::string(batch ? "iterations" : "count") + " must be between 1 and " +
                         std::to_string(most) + ", not " + std::to_string(amount));
    }
}

void Launch::fill_in(Batch& batch, std::uint64_t iterations) const {
    batch.iterations = iterations;
    batch.units = iterations * state_->units_per_iteration();
    batch.details = state_->details();
    batch.cells = state_->cells();
    batch.used = batch.used + state_->used_elsewhere();
    const Checksum expected = state_->expected(iterations);
    if (batch.checksum != expected) {
        throw WrongAnswer("the checksum of " + std::to_string(iterations) + " iterations is " +
                          std::to_string(batch.checksum) + ", not " + std::to_string(expected));
    }
}

Batch Launch::batch(std::uint64_t iterations, Seed layout) {
    require(Kind::batch, iterations, most_iterations);
    arrange(layout);
    Batch batch = with_stack_shifted(stack_shift(), [&] {
        return gauged(clock_, [&] {
            // Not outside: a load that it begins would be gauged as somebody else's.
            const Around around(*state_);
            return time_batch(clock_, counters_, [&] { return state_->run(iterations); }, contender_.scope);
        });
    });
    fill_in(batch, iterations);
    return batch;
}

Batch Launch::samples(std::uint64_t count, Seed layout) {
    require(Kind::samples, count, most_samples);
    arrange(layout);
    nanoseconds_.assign(count, not_timed);  // also touches every page before the timed part
    Batch batch = with_stack_shifted(stack_shift(), [&] {
        return gauged(clock_, [&] {
            // What it was when the program began may be less or more by the whole time of an operation.
            clock_.measure_overhead();
            const Around around(*state_);
            return time_batch(
                clock_, counters_, [&] { return state_->sample(nanoseconds_, clock_); }, contender_.scope);
        });
    });
    fill_in(batch, count);  // first, as a wrong answer says more than a missing time
    const auto missing = std::ranges::count_if(nanoseconds_, [](float ns) { return std::isnan(ns); });
    if (missing != 0) {
        throw WrongAnswer("of " + std::to_string(count) + " operations " + std::to_string(missing) +
                          " have no time");
    }
    return batch;
}

AllocationCounts Launch::allocations(std::uint64_t iterations, Batch& counted) {
    const bool batch = contender_.workload.kind == Kind::batch;
    require(contender_.workload.kind, iterations, batch ? most_iterations : most_samples);
    nanoseconds_.assign(batch ? 0 : iterations, 0.0F);
    const Around around(*state_);  // what it allocates is not the iterations'
    start_counting_allocations();
    try {
        counted.checksum = batch ? state_->run(iterations) : state_->sample(nanoseconds_, clock_);
    } catch (...) {
        (void)stop_counting_allocations();
        throw;
    }
    const AllocationCounts counts = stop_counting_allocations();
    fill_in(counted, iterations);
    return counts;
}

}  // namespace toll
