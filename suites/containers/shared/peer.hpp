#pragma once

#include <toll/relax.hpp>
#include <toll/threads.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <utility>

namespace toll::allocate {

/// Another thread, tied to a CPU, that does one thing after the other while its caller waits. Both spin: a
/// hand-over costs what a cache line costs to travel, not a wake-up in the kernel.
class Peer {
public:
    /// Throws Unsupported where the thread cannot be tied to `cpu`.
    explicit Peer(int cpu) : thread_([this, cpu] { serve(cpu); }) {
        await(ready);
        if (failed_) {
            thread_.join();
            std::rethrow_exception(failed_);
        }
    }
    ~Peer() {
        turn_.store(stop, std::memory_order_release);
        thread_.join();
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Runs work() over there, returns when it has returned, and throws what it threw.
    template <class Work>
    void run(Work&& work) {
        call_ = [](void* what) { (*static_cast<std::remove_reference_t<Work>*>(what))(); };
        what_ = &work;
        turn_.store(++number_, std::memory_order_release);
        await(number_);
        if (failed_) { std::rethrow_exception(std::exchange(failed_, nullptr)); }
    }

private:
    static constexpr std::uint64_t ready = 1;
    static constexpr std::uint64_t stop = ~std::uint64_t{0};

    void await(std::uint64_t number) const noexcept {
        while (done_.load(std::memory_order_acquire) != number) { cpu_relax(); }
    }

    void serve(int cpu) noexcept {
        try {
            pin_this_thread(cpu);
        } catch (...) { failed_ = std::current_exception(); }
        const bool usable = !failed_;
        done_.store(ready, std::memory_order_release);
        if (!usable) { return; }
        for (std::uint64_t number = ready + 1;; ++number) {
            std::uint64_t turn = 0;
            while ((turn = turn_.load(std::memory_order_acquire)) != number && turn != stop) { cpu_relax(); }
            if (turn == stop) { return; }
            try {
                call_(what_);
            } catch (...) { failed_ = std::current_exception(); }
            done_.store(number, std::memory_order_release);
        }
    }

    alignas(64) std::atomic<std::uint64_t> turn_{0};
    alignas(64) std::atomic<std::uint64_t> done_{0};
    void (*call_)(void*) = nullptr;  // these three are written before turn_ or done_, and read after it
    void* what_ = nullptr;
    std::exception_ptr failed_;
    std::uint64_t number_ = ready;
    std::thread thread_;
};

}  // namespace toll::allocate
