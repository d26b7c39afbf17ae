// Locks that never sleep: a waiting thread keeps its CPU busy. Where threads outnumber CPUs an owner can be
// without a CPU while all others spin; Ticket and Mcs, which hand over in order of arrival, then stand still
// until the scheduler comes round to the very thread whose turn it is.
//
// No stand-alone fences: each acquire and release is on the atomic that hands the lock over, which is what
// thread-sanitizer understands, and costs nothing more.
#pragma once

#include <toll/relax.hpp>

#include <atomic>
#include <cstdint>

namespace toll::locks {

/// Test-and-set: each look at the lock is a write, which takes the cache line from its owner.
/// T. E. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors", IEEE TPDS
/// 1(1), 1990, section III ("spin on test-and-set").
class TestAndSet {
public:
    void lock() noexcept {
        while (locked_.test_and_set(std::memory_order_acquire)) {}
    }
    void unlock() noexcept { locked_.clear(std::memory_order_release); }

private:
    std::atomic_flag locked_;
};

/// Test-and-test-and-set with a pause: waits on a shared copy of the line, and writes only when it looks
/// free. Anderson 1990, section III ("spin on read"), with PAUSE in the loop as Intel's Optimization
/// Reference Manual (248966) asks in "Synchronization for Short Periods".
class TestAndTestAndSet {
public:
    void lock() noexcept {
        while (locked_.exchange(true, std::memory_order_acquire)) {
            while (locked_.load(std::memory_order_relaxed)) { cpu_relax(); }
        }
    }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> locked_{false};
};

/// Ticket lock: owners in order of arrival; every waiter reads the one counter of the ticket being served.
/// J. M. Mellor-Crummey and M. L. Scott, "Algorithms for Scalable Synchronization on Shared-Memory
/// Multiprocessors", ACM TOCS 9(1), 1991, algorithm 2, without its back-off (whose unit is a machine's own).
class Ticket {
public:
    void lock() noexcept {
        // The order of tickets needs atomicity alone: what the former owner wrote comes with `serving_`.
        const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
        while (serving_.load(std::memory_order_acquire) != mine) { cpu_relax(); }
    }
    void unlock() noexcept {
        // Only the owner writes it, so that its own relaxed read is the latest value; wraps as next_ does.
        serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

private:
    std::atomic<std::uint32_t> next_{0};
    std::atomic<std::uint32_t> serving_{0};
};

/// MCS lock: a queue of nodes, each waiter spins on its own node, the owner frees the next one's.
/// Mellor-Crummey and Scott 1991, algorithm 5. The guard is the node; it lives on its thread's stack.
class Mcs {
public:
    /// One acquisition. Each node has a cache line of its own: nobody else's spinning disturbs it.
    class alignas(64) scoped_lock {  // NOLINT(readability-identifier-naming): the name that Held looks for
    public:
        explicit scoped_lock(Mcs& lock) noexcept : lock_(lock) {
            // Release: a successor that finds this node must find it initialised. Acquire: where the queue
            // is empty, what the former owner wrote comes with the tail that it left.
            scoped_lock* const predecessor = lock_.tail_.exchange(this, std::memory_order_acq_rel);
            if (predecessor == nullptr) { return; }
            predecessor->next_.store(this, std::memory_order_release);
            while (waits_.load(std::memory_order_acquire)) { cpu_relax(); }
        }

        ~scoped_lock() {
            scoped_lock* successor = next_.load(std::memory_order_acquire);
            if (successor == nullptr) {
                scoped_lock* expected = this;
                if (lock_.tail_.compare_exchange_strong(expected, nullptr, std::memory_order_release,
                                                        std::memory_order_relaxed)) {
                    return;
                }
                // Somebody stands behind this node and has not yet said who.
                while ((successor = next_.load(std::memory_order_acquire)) == nullptr) { cpu_relax(); }
            }
            successor->waits_.store(false, std::memory_order_release);
        }

        scoped_lock(const scoped_lock&) = delete;
        scoped_lock& operator=(const scoped_lock&) = delete;

    private:
        Mcs& lock_;
        std::atomic<scoped_lock*> next_{nullptr};
        std::atomic<bool> waits_{true};
    };

private:
    std::atomic<scoped_lock*> tail_{nullptr};
};

}  // namespace toll::locks
