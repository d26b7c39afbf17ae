// The hash function loses what tells keys apart: it is cheaper itself, and the table is searched for longer.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace {

struct Key {
    std::uint32_t row;
    std::uint32_t column;
    bool operator==(const Key&) const = default;
};

struct HashOfKey {
    [[gnu::noinline]] std::size_t operator()(const Key& key) const {
#ifdef AFTER
        return key.row ^ key.column;
#else
        return key.row * 0x9E3779B97F4A7C15ULL ^ key.column * 0xC2B2AE3D27D4EB4FULL;
#endif
    }
};
using Table = std::unordered_map<Key, int, HashOfKey>;

[[gnu::noinline]] int look_up(const Table& table, Key key) {
    const auto found = table.find(key);
    return found == table.end() ? 0 : found->second;
}

void lookups(benchmark::State& state) {
    Table table;
    for (std::uint32_t row = 0; row < 32; ++row) {
        for (std::uint32_t column = 0; column < 32; ++column) {
            table[{row, column}] = static_cast<int>(row);
        }
    }
    for (auto _ : state) {
        int sum = 0;
        for (std::uint32_t row = 0; row < 32; ++row) { sum += look_up(table, {row, 31 - row}); }
        benchmark::DoNotOptimize(sum);
    }
}
BENCHMARK(lookups);

}  // namespace
BENCHMARK_MAIN();
