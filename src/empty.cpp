// A batch and a sample of nothing: what measuring itself costs (tests/bench).
#include "toll/batch.hpp"
#include "toll/contender.hpp"
#include "toll/sample.hpp"

namespace toll::empty {

struct Nothing {
    Checksum operator()() const noexcept { return 1; }
};

template <class N>
struct Described {
    static std::vector<Parameter> parameters() { return {}; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] Footing footing() const { return {{"threads", 1}}; }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 1; }
    N nothing;
};

template <class N>
struct Workload : Described<N> {
    static constexpr WorkloadInfo info{"toll/empty", Kind::batch, "ns", "iteration"};
    explicit Workload(const Arguments&) {}
    Checksum run(std::uint64_t iterations) { return repeat(iterations, this->nothing); }
};

}  // namespace toll::empty

namespace toll::empty_samples {

template <class N>
struct Workload : empty::Described<N> {
    static constexpr WorkloadInfo info{"toll/empty_samples", Kind::samples, "ns", "operation"};
    explicit Workload(const Arguments&) {}
    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        return time_each(nanoseconds, clock, this->nothing);
    }
};

}  // namespace toll::empty_samples

TOLL_CONTENDER(empty, empty, toll::empty::Nothing);
TOLL_CONTENDER(empty_samples, empty, toll::empty::Nothing);
