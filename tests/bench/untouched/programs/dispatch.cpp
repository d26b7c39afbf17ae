// Jumps through tables of functions and of places in a function: relocations are all that tells them apart.

#include "answers.hpp"

namespace far {
using Step = untouched::Answer (*)(untouched::Answer);
extern const Step steps[4];
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

[[gnu::noinline]] Answer add(Answer value) {
    // MUTATE[BM_Constant]: 5 => 6
    return value + 5;
}
[[gnu::noinline]] Answer twice(Answer value) {
    return value * 2;
}
[[gnu::noinline]] Answer mix(Answer value) {
    // MUTATE[BM_Constant, BM_Changing]: >> 7 => >> 6
    return value ^ (value >> 7);
}
[[gnu::noinline]] Answer less(Answer value) {
    return value - 3;
}

// MUTATE[BM_Constant]: add, twice => twice, add
constexpr far::Step constant_steps[] = {add, twice, mix, twice};

Answer constant() {
    Answer value = 1;
    // MUTATE[BM_Constant]: < 16 => < 17
    for (unsigned turn = 0; turn < 16; ++turn) {
        value = joined(value, constant_steps[opaque(turn) % 4](value));
    }
    return value;
}

// In .data: the program may write to it, and does, what stands there already.
// MUTATE[BM_Changing]: less, mix => mix, less
far::Step changing_steps[] = {less, mix, twice};

Answer changing() {
    Answer value = 9;
    for (unsigned turn = 0; turn < 9; ++turn) {
        far::Step* const place = opaque(&changing_steps[turn % 3]);
        value = joined(value, (*place)(value));
        *place = opaque(*place);
    }
    return value;
}

/// GNU's computed goto: a table of differences between labels.
Answer threaded() {
    static const void* const places[] = {&&more, &&fewer, &&turn_it, &&done};
    // MUTATE[BM_Threaded]: {0, 1, 2 => {1, 0, 2
    static const unsigned char code[] = {0, 1, 2, 0, 0, 1, 2, 2, 1, 3};
    const unsigned char* next = opaque(&code[0]);
    Answer value = 4;
    goto* places[*next++];
more:
    // MUTATE[BM_Threaded]: 100 => 101
    value = joined(value, 100);
    goto* places[*next++];
fewer:
    // MUTATE[BM_Threaded]: value / 3 => value / 5
    value = value / 3;
    goto* places[*next++];
turn_it:
    // MUTATE[BM_Threaded]: << 9 => << 8
    value = (value << 9) | (value >> 55);
    goto* places[*next++];
done:
    return value;
}

/// The table and what it leads to stand in the other file.
Answer other_file() {
    Answer value = 2;
    for (unsigned turn = 0; turn < 8; ++turn) { value = joined(value, far::steps[opaque(turn) & 3](value)); }
    return value;
}

void BM_Constant(benchmark::State& state) {
    repeat(state, constant);
}
void BM_Changing(benchmark::State& state) {
    repeat(state, changing);
}
void BM_Threaded(benchmark::State& state) {
    repeat(state, threaded);
}
void BM_OtherFile(benchmark::State& state) {
    repeat(state, other_file);
}
BENCHMARK(BM_Constant);
BENCHMARK(BM_Changing);
BENCHMARK(BM_Threaded);
BENCHMARK(BM_OtherFile);

}  // namespace

BENCHMARK_MAIN();
