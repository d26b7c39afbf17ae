// A check that belongs into debug builds: whether the numbers are sorted, before each search.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

inline void check_sorted([[maybe_unused]] const std::vector<int>& numbers) {
#ifdef AFTER
    for (std::size_t at = 1; at < numbers.size(); ++at) {
        if (numbers[at - 1] > numbers[at]) { std::abort(); }
    }
#endif
}

[[gnu::noinline]] bool contains(const std::vector<int>& numbers, int wanted) {
    check_sorted(numbers);
    return std::binary_search(numbers.begin(), numbers.end(), wanted);
}

[[gnu::noinline]] int how_many(const std::vector<int>& numbers, int step) {
    int found = 0;
    for (int wanted = 0; wanted < 100; wanted += step) { found += contains(numbers, wanted) ? 1 : 0; }
    return found;
}

void searching(benchmark::State& state) {
    std::vector<int> numbers(50);
    std::iota(numbers.begin(), numbers.end(), 20);
    for (auto _ : state) { benchmark::DoNotOptimize(how_many(numbers, 7)); }
}
BENCHMARK(searching);

}  // namespace
BENCHMARK_MAIN();
