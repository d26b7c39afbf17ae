#pragma once

// latency/lock: lock and unlock with nobody else there, the price of a lock that was not needed.

#include "../shared/lock_concept.hpp"
#include "../shared/second_thread.hpp"

#include <toll/contender.hpp>
#include <toll/keep.hpp>

#include <cstdint>
#include <vector>

namespace toll::lock {

/// Takes the lock, adds one to what it guards, gives it back; a lock is for processes that have a second
/// thread. The sum is the guarded number itself.
template <locks::Lock L>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/lock", Kind::batch, "ns", "lock and unlock"};

    static std::vector<Parameter> parameters() { return {}; }

    explicit Workload(const Arguments&) {}

    Checksum run(std::uint64_t iterations) {
        guarded_ = 0;
        for (std::uint64_t i = 0; i < iterations; ++i) {
            const locks::Held<L> held{lock_};
            clobber();  // without a lock too, the number is in memory, where other threads would look at it
            ++guarded_;
        }
        return guarded_;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        return {{"second_thread", latency::SecondThread::seen()}, {"lock_bytes", sizeof(L)}};
    }

private:
    // The lock has cache lines of its own; the second thread, asleep, disturbs nobody.
    alignas(128) std::uint64_t guarded_ = 0;
    latency::SecondThread second_;
    alignas(128) L lock_;
};

}  // namespace toll::lock
