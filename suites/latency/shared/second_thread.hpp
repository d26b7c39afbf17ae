// A process that has more than one thread, as most programs do.
#pragma once

#include <condition_variable>
#include <latch>
#include <mutex>
#include <stop_token>
#include <thread>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define TOLL_KNOWS_SINGLE_THREADED 1
#endif
#endif

namespace toll::latency {

/// Sleeps as long as it lives. glibc and what is built on it leave atomic operations out while a process has
/// one thread (__libc_single_threaded(3)), in locks and in malloc.
class SecondThread {
public:
    /// Returns once the thread is about to sleep: what its start takes of time and memory is behind it.
    SecondThread() { begun_.wait(); }

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
    std::latch begun_{1};
    std::jthread thread_{[this](const std::stop_token& stopping) {
        std::unique_lock lock(mutex_);
        begun_.count_down();
        never_.wait(lock, stopping, [] { return false; });
    }};
};

}  // namespace toll::latency
