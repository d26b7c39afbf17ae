// A workload for contenders that do not fit.
#pragma once
#include "toll/contender.hpp"

namespace toll::strict {

template <class S>
concept Signal = requires(S signal) {
    signal.raise();
    signal.wait();
};

template <Signal S>
struct Workload {
    static constexpr WorkloadInfo info{"test/strict", Kind::batch, "ns", "signal"};
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments&) {}
    Checksum run(std::uint64_t iterations) { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 1; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] Footing footing() const { return {}; }
    S signal;
};

}  // namespace toll::strict

namespace toll::lacks_run {
template <class S>
struct Workload {
    static constexpr WorkloadInfo info{"test/lacks_run", Kind::batch, "ns", "signal"};
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments&) {}
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] Footing footing() const { return {}; }
};
}  // namespace toll::lacks_run

namespace toll::lacks_sample {
template <class S>
struct Workload : strict::Workload<S> {
    static constexpr WorkloadInfo info{"test/lacks_sample", Kind::samples, "ns", "signal"};
    using strict::Workload<S>::Workload;
};
}  // namespace toll::lacks_sample

namespace toll::lacks_expected {
template <class S>
struct Workload {
    static constexpr WorkloadInfo info{"test/lacks_expected", Kind::batch, "ns", "signal"};
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments&) {}
    [[nodiscard]] Footing footing() const { return {}; }
};
}  // namespace toll::lacks_expected

namespace toll::details_not_const {
template <class S>
struct Workload : strict::Workload<S> {
    using strict::Workload<S>::Workload;
    Details details() { return {}; }
};
}  // namespace toll::details_not_const

namespace toll::before_without_after {
template <class S>
struct Workload : strict::Workload<S> {
    using strict::Workload<S>::Workload;
    void before_batch() {}
    void after_batch() {}  // may throw
};
}  // namespace toll::before_without_after

struct Fits {
    void raise() {}
    void wait() {}
};
