// The operations as benchmarks of Google Benchmark; PEERS_SLOWDOWN is the slow-down in per mille. What an
// operation works on is made once a process, as in the other executables and in toll programs: Google Benchmark
// calls the function anew for each repetition, and 64 MiB made for each lay elsewhere each time.

#include "slowed.hpp"

#include <benchmark/benchmark.h>

int main(int argc, char** argv) {
    const double share = peers::share_of("PEERS_SLOWDOWN");
    peers::for_each_operation([share]<class O>(const char* name, std::uint64_t calls) {
        benchmark::RegisterBenchmark(name, [calls, share](benchmark::State& state) {
            static O operation;
            while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(calls))) {
                peers::block(operation, calls, share);
            }
        });
    });
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) { return 1; }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
