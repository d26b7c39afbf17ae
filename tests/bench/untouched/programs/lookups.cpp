// Clang makes tables of switches that only choose a constant: of values, and of distances to texts.

#include <string_view>

#include "answers.hpp"

namespace far {
const char* colour(unsigned number);
untouched::Answer price(unsigned number);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

[[gnu::noinline]] const char* name_of(unsigned number) {
    switch (number) {
        // MUTATE[BM_Names]: "zero" => "null"
        case 0: return "zero";
        case 1: return "one";
        // Only a distance in the table changes.
        // MUTATE[BM_Names]: "two" => "one"
        case 2: return "two";
        case 3: return "three";
        case 4: return "four";
        // MUTATE[BM_Names]: "five" => "fixe"
        case 5: return "five";
        default: return "many";
    }
}

Answer spelt(std::string_view text) {
    Answer sum = 0;
    for (const char letter : text) { sum = joined(sum, static_cast<Answer>(letter)); }
    return sum;
}

Answer names() {
    Answer sum = 0;
    for (unsigned number = 0; number < 7; ++number) { sum = joined(sum, spelt(name_of(opaque(number)))); }
    return sum;
}

Answer colours() {
    Answer sum = 0;
    // MUTATE[BM_Colours]: number += 2 => number += 3
    for (unsigned number = 0; number < 6; number += 2) {
        sum = joined(sum, spelt(far::colour(opaque(number))));
    }
    return sum;
}

Answer prices() {
    Answer sum = 0;
    for (unsigned number = 0; number < 9; ++number) {
        // MUTATE[BM_Prices]: number * 3 => number * 5
        sum = joined(sum, far::price(opaque(number)) + number * 3);
    }
    return sum;
}

void BM_Names(benchmark::State& state) {
    repeat(state, names);
}
void BM_Colours(benchmark::State& state) {
    repeat(state, colours);
}
void BM_Prices(benchmark::State& state) {
    repeat(state, prices);
}
BENCHMARK(BM_Names);
BENCHMARK(BM_Colours);
BENCHMARK(BM_Prices);

}  // namespace

BENCHMARK_MAIN();
