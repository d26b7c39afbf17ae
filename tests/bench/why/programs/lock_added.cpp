// A counter is guarded by a mutex that nobody else asks for.
#include <benchmark/benchmark.h>

#include <array>
#include <mutex>

namespace {

struct Statistics {
    std::mutex guard;
    std::array<long, 16> counts{};
};
Statistics statistics;

[[gnu::noinline]] void count(unsigned kind) {
#ifdef AFTER
    const std::scoped_lock held(statistics.guard);
#endif
    ++statistics.counts[kind % 16];
}

[[gnu::noinline]] unsigned handle(unsigned request) {
    unsigned value = request;
    for (int step = 0; step < 20; ++step) { value = value * 1664525U + 1013904223U; }
    count(value);
    return value;
}

void requests(benchmark::State& state) {
    unsigned request = 0;
    for (auto _ : state) { benchmark::DoNotOptimize(handle(++request)); }
}
BENCHMARK(requests);

}  // namespace
BENCHMARK_MAIN();
