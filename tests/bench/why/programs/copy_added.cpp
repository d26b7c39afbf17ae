// A parameter is taken by value: each call copies a vector.
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

namespace {

[[gnu::noinline]] long weigh(const std::vector<int>& numbers) {
    long sum = 0;
    for (const int number : numbers) { sum = sum * 31 + number; }
    return sum;
}

[[gnu::noinline]] long checked_sum(const std::vector<int>& numbers) {
#ifdef AFTER
    std::vector<int> own = numbers;
    return weigh(own);
#else
    return weigh(numbers);
#endif
}

void sums(benchmark::State& state) {
    std::vector<int> numbers(200);
    std::iota(numbers.begin(), numbers.end(), 1);
    for (auto _ : state) { benchmark::DoNotOptimize(checked_sum(numbers)); }
}
BENCHMARK(sums);

}  // namespace
BENCHMARK_MAIN();
