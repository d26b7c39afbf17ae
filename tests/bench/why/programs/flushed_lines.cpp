// Each line is flushed: instructions, and a system call that waits in no count.
#include <benchmark/benchmark.h>

#include <fstream>

namespace {

[[gnu::noinline]] void write_line(std::ostream& out, int number) {
#ifdef AFTER
    out << number << std::endl;
#else
    out << number << '\n';
#endif
}

[[gnu::noinline]] int average(int number) {
    int sum = 0;
    for (int at = 1; at < 30; ++at) { sum += number / at; }
    return sum / 30;
}

void logging(benchmark::State& state) {
    std::ofstream out("/dev/null");
    int number = 0;
    for (auto _ : state) { write_line(out, average(++number)); }
}
BENCHMARK(logging);

}  // namespace
BENCHMARK_MAIN();
