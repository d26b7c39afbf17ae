#pragma once

// latency/lock: lock and unlock with nobody else there, the price of a lock that was not needed.

#include "../shared/lock_concept.hpp"

#include <toll/contender.hpp>
#include <toll/keep.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define TOLL_KNOWS_SINGLE_THREADED 1
#endif
#endif

namespace toll::lock {

/// Sleeps as long as it lives. glibc and what is built on it leave atomic operations out while a process has
/// one thread (__libc_single_threaded(3)); a lock is for processes that have more.
class SecondThread {
public:
    /// What glibc believes, for a Footing.
    [[nodiscard]] static const char* seen() noexcept {
#if defined(TOLL_KNOWS_SINGLE_THREADED)
        return __libc_single_threaded != 0 ? "none: the C library leaves out atomic operations"
                                           : "asleep, so that the C library uses atomic operations";
#else
        return "asleep";
#endif
    }

private:
    std::mutex mutex_;
    std::condition_variable_any never_;
    std::jthread thread_{[this](const std::stop_token& stopping) {
        std::unique_lock lock(mutex_);
        never_.wait(lock, stopping, [] { return false; });
    }};
};

/// Takes the lock, adds one to what it guards, gives it back. The sum is the guarded number itself.
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
        return {{"second_thread", SecondThread::seen()}, {"lock_bytes", sizeof(L)}};
    }

private:
    // The lock has cache lines of its own; the second thread, asleep, disturbs nobody.
    alignas(128) std::uint64_t guarded_ = 0;
    SecondThread second_;
    alignas(128) L lock_;
};

}  // namespace toll::lock
