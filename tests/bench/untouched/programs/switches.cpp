// Dense switches become jump tables, sparse ones trees of comparisons.

#include "answers.hpp"

namespace far {
untouched::Answer chosen(unsigned kind, untouched::Answer value);
}

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

[[gnu::noinline]] Answer step(unsigned kind, Answer value) {
    switch (kind) {
        // MUTATE[BM_Dense]: value * 17 => value * 19
        case 0: return value * 17;
        // MUTATE[BM_Dense]: >> 3 => >> 4
        case 1: return value ^ (value >> 3);
        case 2: return value + (value << 5);
        // MUTATE[BM_Dense]: case 3: => case 30:
        case 3: return ~value;
        // MUTATE[BM_Dense]: value / 7 => value / 6
        case 4: return value / 7;
        case 5: return value % 1009;
        // MUTATE[BM_Dense]: < => <=
        case 6: return value < 500 ? value + 1 : value - 1;
        case 7: return value | 0x55;
        default: return value;
    }
}

Answer dense() {
    Answer value = 499;
    for (unsigned kind = 0; kind < 31; ++kind) { value = joined(step(6, 500) + value, step(kind, value)); }
    return value;
}

// MUTATE[BM_Exchanged]: 0 => 1
constexpr unsigned first = 0;

/// Two cases whose code is the same length: what is exchanged is the order of the table's entries alone.
[[gnu::noinline]] Answer two_ways(unsigned kind, Answer value) {
    switch (kind) {
        case first: return joined(value, 11);
        // MUTATE[BM_Exchanged]: value, 12 => value, 13
        case 1 - first: return joined(value, 12);
        case 2: return value / 3;
        case 3: return value ^ 77;
        case 4: return value % 31;
        case 5: return value >> 7;
        case 6: return value + 5;
        default: return value * 3;
    }
}

Answer exchanged() {
    Answer value = 1;
    for (unsigned kind = 0; kind < 9; ++kind) { value = joined(value, two_ways(opaque(kind), value)); }
    return value;
}

[[gnu::noinline]] Answer sparse_step(unsigned code, Answer value) {
    switch (code) {
        case 3: return value + 1;
        // MUTATE[BM_Sparse]: 1000 => 1001
        case 1000: return value * 5;
        // MUTATE[BM_Sparse]: value ^ 9 => value ^ 8
        case 70'000: return value ^ 9;
        case 9'000'000: return value >> 1;
        // MUTATE[BM_Sparse]: + 13 => - 13
        default: return value + 13;
    }
}

Answer sparse() {
    Answer value = 7;
    for (const unsigned code : {3U, 1000U, 70'000U, 9'000'000U, 4U}) {
        value = joined(value, sparse_step(opaque(code), value));
    }
    return value;
}

/// The switch stands in the other file.
Answer elsewhere() {
    Answer value = 3;
    // MUTATE[BM_Elsewhere]: kind < 8 => kind < 9
    for (unsigned kind = 0; kind < 8; ++kind) { value = joined(value, far::chosen(opaque(kind), value)); }
    return value;
}

void BM_Dense(benchmark::State& state) {
    repeat(state, dense);
}
void BM_Exchanged(benchmark::State& state) {
    repeat(state, exchanged);
}
void BM_Sparse(benchmark::State& state) {
    repeat(state, sparse);
}
void BM_Elsewhere(benchmark::State& state) {
    repeat(state, elsewhere);
}
BENCHMARK(BM_Dense);
BENCHMARK(BM_Exchanged);
BENCHMARK(BM_Sparse);
BENCHMARK(BM_Elsewhere);

}  // namespace

BENCHMARK_MAIN();
