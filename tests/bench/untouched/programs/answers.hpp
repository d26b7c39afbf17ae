// What all programs of this folder share. A row's label is the benchmark's answer, the same in each iteration
// and in each launch, so that two builds can be held against each other.
//
//     // MUTATE[BM_Name]: old => new
//
// above a line says that `new` in place of the one `old` in that line changes what BM_Name executes or reads.

#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

namespace untouched {

using Answer = std::uint64_t;

/// A value that the compiler knows nothing about.
template <class Number>
Number opaque(Number number) {
    asm volatile("" : "+r"(number));
    return number;
}

template <class Work>
void repeat(benchmark::State& state, Work work) {
    Answer answer = 0;
    for (auto _ : state) { benchmark::DoNotOptimize(answer = work()); }
    state.SetLabel(std::to_string(answer));
}

/// Order matters: two numbers that change places are noticed.
inline Answer joined(Answer sum, Answer next) {
    return sum * 1099511628211U + next;
}

}  // namespace untouched
