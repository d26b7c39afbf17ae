// The operations as benchmarks of Google Benchmark; PEERS_SLOWDOWN is the slow-down in per mille. Google
// Benchmark calls a function anew for each repetition, and what an operation works on is made in it, as most
// users write it: 64 MiB lie elsewhere each time. With PEERS_STATE_ONCE it is made once a process, as in the
// other executables and in toll programs.

#include "slowed.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>

int main(int argc, char** argv) {
    const double share = peers::share_of("PEERS_SLOWDOWN");
    peers::for_each_operation([share]<class O>(const char* name, std::uint64_t calls) {
        benchmark::RegisterBenchmark(name, [calls, share](benchmark::State& state) {
            const auto run = [&](O& operation) {
                while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(calls))) {
                    peers::block(operation, calls, share);
                }
            };
            static const bool once = std::getenv("PEERS_STATE_ONCE") != nullptr;
            if (once) {
                static const auto kept = std::make_unique<O>();
                run(*kept);
            } else {
                O operation;
                run(operation);
            }
        });
    });
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) { return 1; }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
