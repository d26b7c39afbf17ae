// A Google Benchmark executable with 100 benchmarks: ten things that programs do, in ten sizes. With
// `--slower_per_mille=50` every second one waits 5 % longer, so that the right verdict of each is known.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

std::vector<std::uint32_t> numbers(std::size_t size) {
    std::vector<std::uint32_t> values(size);
    std::iota(values.begin(), values.end(), 0U);
    std::shuffle(values.begin(), values.end(), std::mt19937(7));
    return values;
}

template <class Map>
Work look_up(std::size_t size) {
    auto map = std::make_shared<Map>();
    for (const std::uint32_t value : numbers(size)) { map->emplace(value, value); }
    return [map, keys = numbers(size)] {
        for (const std::uint32_t key : keys) { benchmark::DoNotOptimize(map->find(key)); }
    };
}

Work sum(std::size_t size) {
    return [values = numbers(size)] {
        std::uint32_t total = 0;
        for (const std::uint32_t value : values) { benchmark::DoNotOptimize(total += value); }
    };
}

Work sort(std::size_t size) {
    return [values = numbers(size), copy = std::vector<std::uint32_t>()]() mutable {
        copy = values;
        std::sort(copy.begin(), copy.end());
        benchmark::DoNotOptimize(copy.data());
    };
}

Work push_back(std::size_t size) {
    return [size] {
        std::vector<std::uint32_t> values;
        for (std::size_t index = 0; index < size; ++index) { values.push_back(1); }
        benchmark::DoNotOptimize(values.data());
    };
}

Work walk_list(std::size_t size) {
    const auto values = numbers(size);
    return [list = std::list<std::uint32_t>(values.begin(), values.end())] {
        for (const std::uint32_t& value : list) { benchmark::DoNotOptimize(&value); }
    };
}

Work binary_search(std::size_t size) {
    auto sorted = numbers(size);
    std::ranges::sort(sorted);
    return [sorted, keys = numbers(size)] {
        for (const std::uint32_t key : keys) {
            benchmark::DoNotOptimize(std::ranges::lower_bound(sorted, key));
        }
    };
}

Work append_text(std::size_t size) {
    return [size] {
        std::string text;
        for (std::size_t index = 0; index < size; ++index) { text += "ab"; }
        benchmark::DoNotOptimize(text.data());
    };
}

Work find_text(std::size_t size) {
    return [text = std::string(64 * size, 'a') + 'b'] {
        std::size_t found = text.find('b');
        benchmark::DoNotOptimize(found);
    };
}

Work copy_bytes(std::size_t size) {
    return [from = std::vector<char>(16 * size, 1), to = std::vector<char>(16 * size)]() mutable {
        std::memcpy(to.data(), from.data(), from.size());
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    };
}

struct Kind {
    const char* name;
    Work (*make)(std::size_t size);
};

constexpr std::array<Kind, 10> kinds{{
    {"map_find", look_up<std::map<std::uint32_t, std::uint32_t>>},
    {"unordered_map_find", look_up<std::unordered_map<std::uint32_t, std::uint32_t>>},
    {"sum", sum},
    {"sort", sort},
    {"push_back", push_back},
    {"walk_list", walk_list},
    {"binary_search", binary_search},
    {"append_text", append_text},
    {"find_text", find_text},
    {"copy_bytes", copy_bytes},
}};

/// Calls between two looks at the clock, some 4 us at least: a number that every process agrees on.
std::int64_t calls_of_a_block(std::size_t size) {
    return static_cast<std::int64_t>(65'536 / size);
}

/// Blocks of calls, each followed by a wait of `slower` of the time that it took.
void run(benchmark::State& state, const Kind& kind, std::size_t size, double slower) {
    const Work work = kind.make(size);
    const std::int64_t calls = calls_of_a_block(size);
    while (state.KeepRunningBatch(calls)) {
        const auto begin = Clock::now();
        for (std::int64_t call = 0; call < calls; ++call) { work(); }
        const auto now = Clock::now();
        const auto ends = now + std::chrono::duration_cast<Clock::duration>((now - begin) * slower);
        while (Clock::now() < ends) {}
    }
}

double share_of(int& argc, char** argv) {
    constexpr std::string_view option = "--slower_per_mille=";
    double share = 0;
    argc = static_cast<int>(
        std::remove_if(argv, argv + argc,
                       [&](std::string_view word) {
                           if (!word.starts_with(option)) { return false; }
                           share = std::strtod(word.substr(option.size()).data(), nullptr) / 1000;
                           return true;
                       }) -
        argv);
    return share;
}

}  // namespace

int main(int argc, char** argv) {
    const double share = share_of(argc, argv);
    int number = 0;
    for (const Kind& kind : kinds) {
        for (std::size_t size = 8; size <= 8 << 9; size *= 2) {
            const double slower = number++ % 2 == 1 ? share : 0;
            const std::string name = std::string(kind.name) + "/" + std::to_string(size);
            benchmark::RegisterBenchmark(name.c_str(), [&kind, size, slower](benchmark::State& state) {
                run(state, kind, size, slower);
            });
        }
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) { return 1; }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
