// Operations of UNITS units of work each: 1,020 of them take 2 % longer than 1,000, wherever the code lies.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

void chain(benchmark::State& state) {
    std::uint64_t value = 1;
    for (auto _ : state) {
        for (int i = 0; i < UNITS; ++i) {
            value = value * 6364136223846793005U + 1442695040888963407U;
            benchmark::DoNotOptimize(value);
        }
    }
}
BENCHMARK(chain);

void sum(benchmark::State& state) {
    std::vector<int> values(UNITS);
    std::iota(values.begin(), values.end(), 0);
    for (auto _ : state) {
        long total = 0;
        for (int const value : values) {
            total += value;
            benchmark::DoNotOptimize(total);
        }
    }
}
BENCHMARK(sum);

void hash_lookups(benchmark::State& state) {
    std::unordered_map<unsigned, int> table;
    for (unsigned i = 0; i < 512; ++i) { table[i * 13] = 1; }
    for (auto _ : state) {
        for (unsigned i = 0; i < UNITS; ++i) { benchmark::DoNotOptimize(table.find(i * 7 % 6656)); }
    }
}
BENCHMARK(hash_lookups);

void tree_lookups(benchmark::State& state) {
    std::map<unsigned, int> tree;
    for (unsigned i = 0; i < 512; ++i) { tree[i * 13] = 1; }
    for (auto _ : state) {
        for (unsigned i = 0; i < UNITS; ++i) { benchmark::DoNotOptimize(tree.find(i * 7 % 6656)); }
    }
}
BENCHMARK(tree_lookups);

void short_strings(benchmark::State& state) {
    for (auto _ : state) {
        for (int i = 0; i < UNITS; ++i) {
            std::string text("hello");
            benchmark::DoNotOptimize(text.data());
            text += " you";
            benchmark::DoNotOptimize(text.data());
        }
    }
}
BENCHMARK(short_strings);

}  // namespace

BENCHMARK_MAIN();
