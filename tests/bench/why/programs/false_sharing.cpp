// Counters of two threads come to lie in one cache line: not one instruction more.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>

namespace {

#ifdef AFTER
struct Counter {
    std::atomic<long> value{0};
};
#else
struct alignas(128) Counter {
    std::atomic<long> value{0};
};
#endif
std::array<Counter, 2> counters;

[[gnu::noinline]] void count_up(int thread) {
    for (int step = 0; step < 50; ++step) {
        counters[static_cast<std::size_t>(thread)].value.fetch_add(1, std::memory_order_relaxed);
    }
}

[[gnu::noinline]] int mixed(int value) {
    for (int step = 0; step < 50; ++step) { value = value * 31 + step; }
    return value;
}

void counting(benchmark::State& state) {
    int value = 1;
    for (auto _ : state) {
        benchmark::DoNotOptimize(value = mixed(value));
        count_up(state.thread_index());
    }
}
BENCHMARK(counting)->Threads(2);

}  // namespace
BENCHMARK_MAIN();
