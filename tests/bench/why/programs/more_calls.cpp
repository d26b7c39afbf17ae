// A bound is computed anew in each turn of a loop; the function that is called is as it was.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

namespace {

[[gnu::noinline]] std::size_t length_of(const char* text) {
    benchmark::DoNotOptimize(text);  // else compilers see that it gives the same each time
    std::size_t length = 0;
    while (text[length] != '\0') { ++length; }
    return length;
}

[[gnu::noinline]] int vowels(const char* text) {
    int found = 0;
#ifdef AFTER
    for (std::size_t at = 0; at < length_of(text); ++at) {
#else
    for (std::size_t at = 0, end = length_of(text); at < end; ++at) {
#endif
        found += std::strchr("aeiou", text[at]) != nullptr ? 1 : 0;
    }
    return found;
}

[[gnu::noinline]] int spaces(const char* text) {
    int found = 0;
    for (std::size_t at = 0, end = length_of(text); at < end; ++at) { found += text[at] == ' ' ? 1 : 0; }
    return found;
}

void letters(benchmark::State& state) {
    const std::string text = "what a function gains because it is called more often is not its own doing";
    for (auto _ : state) { benchmark::DoNotOptimize(vowels(text.c_str()) + spaces(text.c_str())); }
}
BENCHMARK(letters);

}  // namespace
BENCHMARK_MAIN();
