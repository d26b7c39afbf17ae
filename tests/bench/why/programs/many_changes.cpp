// Five functions change; one of them lost its early way out.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace {

#ifdef AFTER
constexpr int version = 3;
#else
constexpr int version = 2;
#endif

[[gnu::noinline]] int header(int size) {
    return size * version + 7;
}
[[gnu::noinline]] int checksum(const std::string& text) {
    int sum = version;
    for (const char letter : text) { sum = sum * 33 + letter; }
    return sum;
}
[[gnu::noinline]] bool contains(const std::vector<int>& values, int wanted) {
    bool found = false;
    for (const int value : values) {
        if (value == wanted) {
            found = true;
#ifndef AFTER
            break;
#endif
        }
        benchmark::ClobberMemory();
    }
    return found;
}
[[gnu::noinline]] int flags(bool found) {
    return found ? version * 16 : version;
}
[[gnu::noinline]] int trailer(int sum) {
    return sum ^ (version << 8);
}

void packets(benchmark::State& state) {
    std::vector<int> values;
    for (int value = 0; value < 120; ++value) { values.push_back(value * 3); }
    const std::string text(150, 'p');
    int wanted = 60;
    for (auto _ : state) {
        benchmark::DoNotOptimize(wanted);
        benchmark::DoNotOptimize(header(wanted) + flags(contains(values, wanted)) + trailer(checksum(text)));
    }
}
BENCHMARK(packets);

}  // namespace
BENCHMARK_MAIN();
