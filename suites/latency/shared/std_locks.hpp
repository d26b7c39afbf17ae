// The standard library's locks, and its signals used as locks.
#pragma once

#include <atomic>
#include <mutex>
#include <semaphore>
#include <shared_mutex>

namespace toll::locks {

using StdMutex = std::mutex;

/// Locked exclusively, as by a writer.
using StdSharedMutex = std::shared_mutex;

/// A semaphore that holds the one permission to go on; any thread may give it back.
template <class Semaphore>
class SemaphoreLock {
public:
    void lock() { semaphore_.acquire(); }
    void unlock() { semaphore_.release(); }

private:
    Semaphore semaphore_{1};
};

using StdBinarySemaphore = SemaphoreLock<std::binary_semaphore>;
using StdCountingSemaphore = SemaphoreLock<std::counting_semaphore<>>;

/// A flag that losers wait for in the kernel (after the library's own spinning), by C++20's wait and notify.
/// The lock of cppreference's page on std::atomic_flag, "A spinning mutex".
class StdAtomicFlag {
public:
    void lock() noexcept {
        while (locked_.test_and_set(std::memory_order_acquire)) {
            locked_.wait(true, std::memory_order_relaxed);
        }
    }
    void unlock() noexcept {
        locked_.clear(std::memory_order_release);
        locked_.notify_one();
    }

private:
    std::atomic_flag locked_;
};

}  // namespace toll::locks
