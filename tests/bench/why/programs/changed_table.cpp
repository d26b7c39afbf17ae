// Data alone: a table of step widths holds smaller ones, and the same loop goes on for longer.
#include <benchmark/benchmark.h>

#include <array>

namespace {

#ifdef AFTER
constexpr std::array<int, 8> widths{1, 1, 2, 1, 1, 2, 1, 1};
#else
constexpr std::array<int, 8> widths{4, 7, 5, 4, 6, 5, 7, 4};
#endif

[[gnu::noinline]] int steps_to(int end) {
    int steps = 0;
    for (int at = 0; at < end; ++steps) { at += widths[static_cast<std::size_t>(steps % 8)]; }
    return steps;
}

[[gnu::noinline]] int squares(int end) {
    int sum = 0;
    for (int at = 0; at < end; ++at) { sum += at * at; }
    return sum;
}

void stepping(benchmark::State& state) {
    int end = 100;
    for (auto _ : state) {
        benchmark::DoNotOptimize(end);
        benchmark::DoNotOptimize(steps_to(end) + squares(end));
    }
}
BENCHMARK(stepping);

}  // namespace
BENCHMARK_MAIN();
