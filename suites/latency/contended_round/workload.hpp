#pragma once

// latency/contended_round: rounds of increments of one integer by threads that are made for each round. The
// form of the programs behind the figures under contention of the "concurrency latency" document of 2022.

#include "../shared/counter_concept.hpp"

#include <toll/contender.hpp>
#include <toll/threads.hpp>

#include <atomic>
#include <cstdint>
#include <latch>
#include <span>
#include <thread>
#include <vector>

namespace toll::contended_round {

/// A sample is a round: its threads have all begun, wait for one signal or are about to, and each adds
/// `increments` times. It runs from the signal until who gave it has returned from its wait for the last
/// thread's end, its own waking included, and is told per increment of one thread, whatever the others did
/// meanwhile: how far the threads overlap is the scheduler's affair, and part of the question.
template <contention::AddsAsAsked C>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/contended_round", Kind::samples, "ns", "increment"};

    static std::vector<Parameter> parameters() {
        return {{"threads", "cpus", "threads", "threads that are made for each round, tied to nothing"},
                {"increments", "1000", "increments", "what each thread makes in a round, in a plain loop"}};
    }

    explicit Workload(const Arguments& arguments)
        : threads_(static_cast<unsigned>(arguments.number("threads", 1, most_threads))),
          increments_(arguments.number("increments", 1, most_increments)) {}

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        std::uint64_t counted = 0;
        for (float& sample : nanoseconds) {
            OwnLines own;
            sample = static_cast<float>(round(own.counter, clock) / static_cast<double>(increments_));
            counted += own.counter.count();
        }
        return counted;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * threads_ * increments_;
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const { return {{"threads", threads_}, {"cpus", usable_cpus().size()}}; }

private:
    static constexpr std::uint64_t most_threads = 4096;
    static constexpr std::uint64_t most_increments = 1'000'000;

    /// The contender on lines of its own: apart from the flag that threads wait for.
    struct alignas(128) OwnLines {
        C counter;
    };

    /// Nanoseconds of one round.
    double round(C& counter, const Clock& clock) const {
        std::atomic_flag begin;
        std::latch ready(threads_);
        std::latch ended(threads_);
        std::vector<std::jthread> threads;
        threads.reserve(threads_);
        const auto take_part = [&] {
            ready.arrive_and_wait();
            begin.wait(false);
            counter.add(increments_);
            ended.count_down();
        };
        try {
            while (threads.size() < threads_) { threads.emplace_back(take_part); }
        } catch (...) {
            // Those that were made are joined on the way out, and wait for the others and the signal.
            begin.test_and_set();
            begin.notify_all();
            ready.count_down(threads_ - static_cast<std::ptrdiff_t>(threads.size()));
            throw;
        }
        ready.wait();
        const Ticks from = clock.start();
        begin.test_and_set();
        begin.notify_all();
        ended.wait();
        const Ticks to = clock.stop();
        return clock.elapsed_ns(from, to);
    }

    unsigned threads_;
    std::uint64_t increments_;
};

}  // namespace toll::contended_round
