// Linked at a fixed address: pointers are plain numbers, and plain numbers may look like pointers.

#include "answers.hpp"

namespace far {
extern const long numbers[6];
extern const char* const names[4];
untouched::Answer chosen(unsigned kind, untouched::Answer value);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

// Where this file's own data and code may lie.
Answer one = 5;
Answer other = 5;

Answer numbers() {
    // An address's value, and none.
    // MUTATE[BM_Numbers]: 0x403010 => 0x403018
    Answer sum = opaque<Answer>(0x403010);
    // MUTATE[BM_Numbers]: 0x401200 => 0x401210
    sum = joined(sum, opaque<Answer>(0x401200));
    for (const long& number : far::numbers) { sum = joined(sum, static_cast<Answer>(*opaque(&number))); }
    return sum;
}

Answer pointers() {
    // MUTATE[BM_Pointers]: &one => &other
    Answer* const place = &one;
    *opaque(place) = 8;
    // MUTATE[BM_Pointers]: one, other => other, one
    const Answer found = joined(one, other);
    one = opaque<Answer>(5);
    return found;
}

Answer names() {
    Answer sum = 0;
    for (const char* const& name : far::names) {
        for (const char* letter = *opaque(&name); *letter != '\0'; ++letter) {
            // MUTATE[BM_Names]: *letter) => *letter ^ 1)
            sum = joined(sum, static_cast<Answer>(*letter));
        }
    }
    return sum;
}

Answer switched() {
    Answer value = 1;
    // MUTATE[BM_Switched]: kind < 8 => kind < 7
    for (unsigned kind = 0; kind < 8; ++kind) { value = joined(value, far::chosen(opaque(kind), value)); }
    return value;
}

void BM_Numbers(benchmark::State& state) {
    repeat(state, numbers);
}
void BM_Pointers(benchmark::State& state) {
    repeat(state, pointers);
}
void BM_Names(benchmark::State& state) {
    repeat(state, names);
}
void BM_Switched(benchmark::State& state) {
    repeat(state, switched);
}
BENCHMARK(BM_Numbers);
BENCHMARK(BM_Pointers);
BENCHMARK(BM_Names);
BENCHMARK(BM_Switched);

}  // namespace

BENCHMARK_MAIN();
