// The same loop runs a second time, inlined into whoever normalises.
#include <benchmark/benchmark.h>

#include <vector>

namespace {

double total(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) { sum += value; }
    return sum;
}

[[gnu::noinline]] void normalise(std::vector<double>& values) {
    const double sum = total(values);
    for (double& value : values) { value /= sum; }
#ifdef AFTER
    const double rest = total(values);
    for (double& value : values) { value /= rest; }
#endif
}

[[gnu::noinline]] void smooth(std::vector<double>& values) {
    for (std::size_t at = 1; at < values.size(); ++at) { values[at] = (values[at] + values[at - 1]) / 2; }
}

void filtering(benchmark::State& state) {
    std::vector<double> values(100, 1.5);
    for (auto _ : state) {
        smooth(values);
        normalise(values);
        benchmark::DoNotOptimize(values.data());
    }
}
BENCHMARK(filtering);

}  // namespace
BENCHMARK_MAIN();
