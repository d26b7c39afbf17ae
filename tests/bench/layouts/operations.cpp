// Ten operations in one Google Benchmark executable: what `toll trust --rebuild` counts false alarms over.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

constexpr int entries = 4096;
constexpr unsigned stride = 7919;  // a prime, so that keys come in no order that a cache would like

void sum_4096(benchmark::State& state) {
    std::vector<int> values(entries);
    std::iota(values.begin(), values.end(), 0);
    for (auto _ : state) {
        long sum = 0;
        for (int const value : values) {
            sum += value;
            benchmark::DoNotOptimize(sum);  // one addition after the other, no vectors
        }
    }
}
BENCHMARK(sum_4096);

void tree_lookup(benchmark::State& state) {
    std::map<unsigned, int> tree;
    std::mt19937 random(1);
    for (int i = 0; i < entries; ++i) { tree[random() % 100'000] = i; }
    unsigned key = 0;
    for (auto _ : state) {
        key += stride;
        benchmark::DoNotOptimize(tree.find(key % 100'000));
    }
}
BENCHMARK(tree_lookup);

void push_back(benchmark::State& state) {
    for (auto _ : state) {
        std::vector<int> values;
        for (int i = 0; i < 512; ++i) { values.push_back(i); }
        benchmark::DoNotOptimize(values.data());
    }
}
BENCHMARK(push_back);

void mutex_lock(benchmark::State& state) {
    std::mutex mutex;
    for (auto _ : state) {
        std::lock_guard const lock(mutex);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(mutex_lock);

void hash_lookup(benchmark::State& state) {
    std::unordered_map<unsigned, int> table;
    for (unsigned i = 0; i < entries; ++i) { table[i * 13] = 1; }
    unsigned key = 0;
    for (auto _ : state) {
        key += stride;
        benchmark::DoNotOptimize(table.find(key % (entries * 13)));
    }
}
BENCHMARK(hash_lookup);

void sort_512(benchmark::State& state) {
    std::mt19937 random(1);
    std::vector<unsigned> values(512);
    std::generate(values.begin(), values.end(), std::ref(random));
    for (auto _ : state) {
        auto sorted = values;
        std::sort(sorted.begin(), sorted.end());
        benchmark::DoNotOptimize(sorted.data());
    }
}
BENCHMARK(sort_512);

void atomic_add(benchmark::State& state) {
    std::atomic<int> count{0};
    for (auto _ : state) { count.fetch_add(1); }
}
BENCHMARK(atomic_add);

void new_delete(benchmark::State& state) {
    for (auto _ : state) { benchmark::DoNotOptimize(std::make_unique<int>(1)); }
}
BENCHMARK(new_delete);

void short_string(benchmark::State& state) {
    for (auto _ : state) {
        std::string text("hello");
        text += " you";
        benchmark::DoNotOptimize(text);
    }
}
BENCHMARK(short_string);

void shared_copy(benchmark::State& state) {
    auto const original = std::make_shared<int>(1);
    for (auto _ : state) {
        auto copy = original;
        benchmark::DoNotOptimize(copy);
    }
}
BENCHMARK(shared_copy);

}  // namespace

BENCHMARK_MAIN();
