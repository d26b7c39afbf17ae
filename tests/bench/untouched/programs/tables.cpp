// Tables of constants, some of them reached by an address before their begin or behind their end.

#include <cstddef>

#include "answers.hpp"

namespace far {
struct Rate {
    double factor;
    int above;
    char letter;
};
extern const Rate rates[5];
extern const short grid[4][6];
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

const int before[] = {7, 7, 7, 7};
// MUTATE[BM_Months]: {31, 28 => {31, 29
const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
const int behind[] = {9, 9, 9, 9};

/// Months count from 1: the address in the code lies in what stands before the table.
[[gnu::noinline]] int days_of(std::size_t month) {
    return days[month - 1];
}

Answer months() {
    Answer sum = 0;
    for (std::size_t month = 1; month <= 12; ++month) {
        sum = joined(sum, static_cast<Answer>(days_of(month)));
    }
    // MUTATE[BM_Months]: before[opaque(1)] => behind[opaque(1)]
    return joined(sum, static_cast<Answer>(before[opaque(1)] + behind[opaque(2)]));
}

struct Bound {
    int from;
    int to;
    int value;
};

// MUTATE[BM_Backwards]: {20, 30, 4} => {20, 31, 4}
const Bound bounds[] = {{0, 10, 1}, {10, 20, 2}, {20, 30, 4}, {30, 40, 8}};

/// From the end to the begin: only the end's address stands in the code.
Answer backwards() {
    Answer sum = 0;
    for (const Bound* bound = opaque(&bounds[4]); bound != &bounds[0];) {
        --bound;
        // MUTATE[BM_Backwards]: bound->to - bound->from => bound->to + bound->from
        sum = joined(sum, static_cast<Answer>((bound->to - bound->from) * bound->value));
    }
    return sum;
}

Answer rates() {
    double sum = 0.0;
    for (int value = 0; value < 50; value += 7) {
        for (const far::Rate& rate : far::rates) {
            // MUTATE[BM_Rates]: > rate.above => >= rate.above
            if (opaque(value) > rate.above) { sum = sum * rate.factor + rate.letter; }
        }
    }
    return static_cast<Answer>(sum * 1e6);
}

Answer grid() {
    Answer sum = 0;
    for (std::size_t row = 1; row < 4; ++row) {
        for (std::size_t column = opaque<std::size_t>(0); column < 6; ++column) {
            // MUTATE[BM_Grid]: [row - 1] => [row]
            sum = joined(sum, static_cast<Answer>(far::grid[row][column] * far::grid[row - 1][5 - column]));
        }
    }
    return sum;
}

void BM_Months(benchmark::State& state) {
    repeat(state, months);
}
void BM_Backwards(benchmark::State& state) {
    repeat(state, backwards);
}
void BM_Rates(benchmark::State& state) {
    repeat(state, rates);
}
void BM_Grid(benchmark::State& state) {
    repeat(state, grid);
}
BENCHMARK(BM_Months);
BENCHMARK(BM_Backwards);
BENCHMARK(BM_Rates);
BENCHMARK(BM_Grid);

}  // namespace

BENCHMARK_MAIN();
