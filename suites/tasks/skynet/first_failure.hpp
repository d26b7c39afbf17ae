#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace toll::skynet {

/// The first exception of any unit of a tree. A unit that fails ends with a wrong sum instead of letting its
/// exception out (which ends the process in a thread and in a fiber); the root rethrows it once everything
/// has ended.
class FirstFailure {
public:
    void keep(std::exception_ptr failure) noexcept {
        const std::scoped_lock lock(mutex_);
        if (!first_) { first_ = std::move(failure); }
        failed_.store(true, std::memory_order_release);
    }
    void rethrow() {
        if (!failed_.load(std::memory_order_acquire)) { return; }
        const std::scoped_lock lock(mutex_);
        failed_.store(false, std::memory_order_relaxed);
        std::rethrow_exception(std::exchange(first_, nullptr));
    }

private:
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::exception_ptr first_;
};

}  // namespace toll::skynet
