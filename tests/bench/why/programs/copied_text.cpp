// Texts in place of views of them, in a function that is inlined into its caller's caller.
#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

namespace {

#ifdef AFTER
std::string first_field(const std::string& line) {
    return line.substr(0, line.find(','));
}
#else
std::string_view first_field(std::string_view line) {
    return line.substr(0, line.find(','));
}
#endif

[[gnu::noinline]] std::size_t widest(const std::string* lines, int count) {
    std::size_t found = 0;
    for (int at = 0; at < count; ++at) { found = std::max(found, first_field(lines[at]).size()); }
    return found;
}

[[gnu::noinline]] int commas(const std::string& line) {
    int found = 0;
    for (const char letter : line) { found += letter == ',' ? 1 : 0; }
    return found;
}

void fields(benchmark::State& state) {
    const std::string lines[] = {"a field of some length that no short string holds,b,c",
                                 "another field that is as long,d"};
    for (auto _ : state) {
        benchmark::DoNotOptimize(widest(lines, 2) + static_cast<std::size_t>(commas(lines[0])));
    }
}
BENCHMARK(fields);

}  // namespace
BENCHMARK_MAIN();
