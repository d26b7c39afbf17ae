// The room for all words is not asked for at once any more.
#include <benchmark/benchmark.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

[[gnu::noinline]] std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> words;
#ifndef AFTER
    words.reserve(64);
#endif
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        words.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

[[gnu::noinline]] std::size_t longest(const std::vector<std::string>& words) {
    std::size_t found = 0;
    for (const auto& word : words) { found = std::max(found, word.size()); }
    return found;
}

void splitting(benchmark::State& state) {
    std::string text;
    for (int word = 0; word < 60; ++word) {
        text += std::string(static_cast<std::size_t>(word % 9 + 1), 'w') + ' ';
    }
    for (auto _ : state) { benchmark::DoNotOptimize(longest(split(text))); }
}
BENCHMARK(splitting);

}  // namespace
BENCHMARK_MAIN();
