// How many parked wake-ups latency/wakeup measures a second, beside designs that make a thread for each
// sample: that of the "concurrency latency" document of 2022, which lets 5 ms pass and takes the thread for
// asleep, and the best that can be made of it, which goes on as soon as the kernel shows it asleep.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "figures.hpp"
#include "shared/sleeper.hpp"
#include "wakeup/workload.hpp"

namespace {

using Seconds = std::chrono::duration<double>;

struct Semaphore {
    std::counting_semaphore<> semaphore{0};
    void raise() { semaphore.release(); }
    void wait() { semaphore.acquire(); }
};

constexpr int rounds = 7;
constexpr Seconds go_length{2};

/// Samples a second of one go: what `measure(count)` takes, again and again, for about two seconds, with all
/// that is made for it.
double samples_per_s(std::size_t count, const std::function<void(std::size_t)>& measure) {
    const auto begin = std::chrono::steady_clock::now();
    Seconds taken{0};
    std::size_t samples = 0;
    while (taken < go_length) {
        measure(count);
        samples += count;
        taken = std::chrono::steady_clock::now() - begin;
    }
    return static_cast<double>(samples) / taken.count();
}

/// One thread, one sample. `asleep(sleeper)` returns once the thread may be signalled.
template <class Asleep>
void thread_a_sample(const toll::Clock& clock, std::size_t samples, Asleep asleep) {
    std::vector<double> ns;
    for (std::size_t i = 0; i < samples; ++i) {
        Semaphore signal;
        toll::latency::Sleeper sleeper;
        std::atomic<bool> going{false};
        toll::Ticks returned = 0;
        std::jthread thread([&] {
            sleeper.watch_this_thread();
            going.store(true, std::memory_order_release);
            signal.wait();
            returned = clock.stop();
        });
        while (!going.load(std::memory_order_acquire)) { std::this_thread::yield(); }
        asleep(sleeper);
        const toll::Ticks raised = clock.start();
        signal.raise();
        thread.join();
        ns.push_back(clock.elapsed_ns(raised, returned));
    }
}

double by_assumption(const toll::Clock& clock) {
    return samples_per_s(5, [&](std::size_t samples) {
        thread_a_sample(clock, samples,
                        [](auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    });
}

double seen_asleep(const toll::Clock& clock) {
    return samples_per_s(50, [&](std::size_t samples) {
        thread_a_sample(clock, samples, [](auto& sleeper) {
            sleeper.await_asleep([] { return false; }, [] { toll::cpu_relax(); });
        });
    });
}

/// One launch of latency/wakeup, in a thread of its own: the workload ties the thread that makes it.
double one_pair(const toll::Clock& clock) {
    using Workload = toll::wakeup::Workload<Semaphore>;
    const auto parameters = Workload::parameters();
    double rate = 0;
    std::jthread([&] {
        std::optional<Workload> workload;
        std::vector<float> ns(1000);
        rate = samples_per_s(ns.size(), [&](std::size_t samples) {
            if (!workload) { workload.emplace(toll::Arguments(parameters, {})); }
            if (workload->sample(ns, clock) != workload->expected(samples)) { std::abort(); }
        });
    }).join();
    return rate;
}

}  // namespace

int main() {
    const toll::Clock clock = toll::Clock::system();
    std::vector<double> ours;
    std::vector<double> over_assumption;
    std::vector<double> over_seen;
    // A busy machine slows all three: only neighbours in time are divided by each other.
    for (int round = 0; round < rounds; ++round) {
        const double assumed = by_assumption(clock);
        ours.push_back(one_pair(clock));
        over_assumption.push_back(ours.back() / assumed);
        over_seen.push_back(ours.back() / seen_asleep(clock));
    }
    using toll::bench::at_most;
    using toll::bench::median;
    using toll::bench::shown;
    const double slowest = *std::ranges::min_element(ours);
    const double times = median(over_assumption);
    return toll::bench::print(
        "wakeup_rate",
        {shown("parked wake-up samples a minute, median of 7 goes of 2 s", 60 * median(ours), "samples"),
         shown("the same, slowest go", 60 * slowest, "samples"),
         at_most("one parked sample, harness included, median go", 1e6 / median(ours), "us", 60),
         shown("as many samples as by a thread a sample, 5 ms each", times, "times"),
         at_most("a thread a sample, 5 ms each: its rate, of ours", 100 / times, "%", 5),
         shown("as many samples as by a thread a sample, seen asleep", median(over_seen), "times")});
}
