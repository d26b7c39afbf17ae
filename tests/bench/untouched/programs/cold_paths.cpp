// Code that the compiler moves out of the way, recursion, and calls at the end that become jumps.

#include "answers.hpp"

namespace far {
bool is_even(unsigned number);
bool is_odd(unsigned number);
untouched::Answer walked(unsigned depth, untouched::Answer value);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

[[gnu::cold, gnu::noinline]] Answer rarely(Answer value) {
    // MUTATE[BM_Rare]: value / 9 => value / 11
    return joined(value, value / 9);
}

/// Its unlikely end lies in another section, and runs all the same.
[[gnu::noinline]] Answer expected(Answer value) {
    if (__builtin_expect(value % 16 == 5, 0)) {
        // MUTATE[BM_Rare]: value + 77 => value + 78
        return rarely(value + 77);
    }
    // MUTATE[BM_Rare]: > 1'000'000 => > 1'000
    if (__builtin_expect(value > 1'000'000, 0)) { return rarely(value) ^ 3; }
    return value * 3;
}

Answer rare() {
    Answer sum = 0;
    for (Answer value = 0; value < 2'000; value += 45) { sum = joined(sum, expected(opaque(value))); }
    return sum;
}

[[gnu::noinline]] Answer ackermann(Answer m, Answer n) {
    // MUTATE[BM_Recursion]: n + 1 => n + 2
    if (m == 0) { return n + 1; }
    // MUTATE[BM_Recursion]: m - 1, 1 => m - 1, 2
    if (n == 0) { return ackermann(m - 1, 1); }
    return ackermann(m - 1, ackermann(m, n - 1));
}

Answer recursion() {
    // MUTATE[BM_Recursion]: (2, 3) => (2, 4)
    return ackermann(2, 3);
}

/// A circle of calls through the other file: assuming that it is equal must not make it so.
Answer circle() {
    Answer sum = 0;
    for (unsigned number = 0; number < 12; ++number) {
        sum = joined(sum, far::is_even(opaque(number)) ? 2 : 1);
    }
    return sum;
}

Answer tails() {
    // MUTATE[BM_Tails]: 9, 4 => 9, 5
    return far::walked(9, 4);
}

void BM_Rare(benchmark::State& state) {
    repeat(state, rare);
}
void BM_Recursion(benchmark::State& state) {
    repeat(state, recursion);
}
void BM_Circle(benchmark::State& state) {
    repeat(state, circle);
}
void BM_Tails(benchmark::State& state) {
    repeat(state, tails);
}
BENCHMARK(BM_Rare);
BENCHMARK(BM_Recursion);
BENCHMARK(BM_Circle);
BENCHMARK(BM_Tails);

}  // namespace

BENCHMARK_MAIN();
