// Optimised as a whole: functions of both files are inlined, cloned for their arguments, renamed.

#include <vector>

#include "whole.hpp"

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

Answer inlined() {
    Answer sum = 0;
    // MUTATE[BM_Inlined]: number < 20 => number <= 20
    for (Answer number = 0; number < 20; ++number) { sum = joined(sum, far::tripled(opaque(number))); }
    return sum;
}

Answer cloned() {
    Answer sum = 0;
    for (Answer number = 0; number < 10; ++number) {
        // MUTATE[BM_Cloned]: (number), 3 => (number), 4
        sum = joined(sum, far::powered(opaque(number), 3));
        // MUTATE[BM_Cloned]: number + 1 => number + 2
        sum = joined(sum, far::powered(opaque(number + 1), 3));
    }
    return sum;
}

Answer kept() {
    std::vector<Answer> numbers;
    // MUTATE[BM_Kept]: numbers.reserve(30) => numbers.reserve(3)
    numbers.reserve(30);
    for (Answer number = 0; number < 30; ++number) { numbers.push_back(far::table_entry(number % 8)); }
    Answer sum = 0;
    // MUTATE[BM_Kept]: const Answer number : numbers => const Answer number : std::vector<Answer>(numbers)
    for (const Answer number : numbers) { sum = joined(sum, number); }
    return sum;
}

void BM_Inlined(benchmark::State& state) {
    repeat(state, inlined);
}
void BM_Cloned(benchmark::State& state) {
    repeat(state, cloned);
}
void BM_Kept(benchmark::State& state) {
    repeat(state, kept);
}
BENCHMARK(BM_Inlined);
BENCHMARK(BM_Cloned);
BENCHMARK(BM_Kept);

}  // namespace

BENCHMARK_MAIN();
