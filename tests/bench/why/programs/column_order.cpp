// Not one instruction more: a matrix is read by columns, and each value lies in another cache line.
#include <benchmark/benchmark.h>

#include <vector>

namespace {

constexpr int size = 512;

[[gnu::noinline]] long sum_of(const std::vector<int>& matrix) {
    long sum = 0;
    for (int outer = 0; outer < size; ++outer) {
        for (int inner = 0; inner < size; ++inner) {
#ifdef AFTER
            const int place = inner * size + outer;
#else
            const int place = outer * size + inner;
#endif
            sum += matrix[static_cast<std::size_t>(place)];
            benchmark::DoNotOptimize(sum);
        }
    }
    return sum;
}

[[gnu::noinline]] long scaled(long sum) {
    for (int step = 0; step < 50; ++step) { sum = sum * 31 + step; }
    return sum;
}

void matrices(benchmark::State& state) {
    const std::vector<int> matrix(size * size, 3);
    for (auto _ : state) { benchmark::DoNotOptimize(scaled(sum_of(matrix))); }
}
BENCHMARK(matrices);

}  // namespace
BENCHMARK_MAIN();
