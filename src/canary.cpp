// The machine's own pulse: a fixed piece of work that toll measures between launches. Integer
// arithmetic in a chain that no compiler can shorten, and a walk through 128 KiB: more than a core's
// first cache, a small part of its second. With 512 KiB, half of that cache, it was the physical pages
// that a launch got which decided: of pairs of launches half differed by over 3.1 %, with 16 to 256 KiB
// by over 0.1 to 0.6 % (60 pairs each, second-level cache of 1 MiB), and contenders scatter like these.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "toll/contender.hpp"
#include "toll/keep.hpp"

namespace toll::canary {

constexpr std::size_t words = std::size_t{128} * 1024 / sizeof(std::uint64_t);  // a power of 2
constexpr int steps = 120'000;  // 0.5 to 1 ms on a 2020s machine

/// One pass from a fixed state: the same answer on every machine, and each step depends on the one
/// before it through both a multiplication and a load.
inline Checksum beat(std::vector<std::uint64_t>& memory) {
    std::uint64_t x = 1;
    for (int step = 0; step < steps; ++step) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        x ^= memory[(x >> 40) & (words - 1)];
    }
    return x;
}

struct Pulse {
    std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(words, 0x9E3779B97F4A7C15U);
};

template <class P>
struct Workload {
    static constexpr WorkloadInfo info{"toll/canary", Kind::batch, "ns", "beat"};
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments&) {}
    Checksum run(std::uint64_t iterations) {
        Checksum sum = 0;
        for (std::uint64_t i = 0; i < iterations; ++i) {
            sum += beat(pulse_.memory);
            clobber();
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 1; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations * answer; }
    [[nodiscard]] Footing footing() const { return {{"threads", 1}, {"steps", steps}}; }

    // Computed apart, in Python: x = (x * a + c) % 2**64 ^ word, steps times from 1.
    static constexpr Checksum answer = 11561133165368462849U;

private:
    P pulse_;
};

}  // namespace toll::canary

TOLL_CONTENDER(canary, canary, toll::canary::Pulse);
