// Asserts: texts with the path and the line in them, in code that is there and does not run.

#include <cassert>

#include "asserts.hpp"

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

[[gnu::noinline]] Answer checked(Answer value) {
    assert(value < 1'000'000 && "small enough");
    // MUTATE[BM_Asserted]: value != 0 => value != 1'000
    assert(value != 0);
    // MUTATE[BM_Asserted]: value * 7 => value * 9
    return value * 7;
}

Answer asserted() {
    Answer sum = 0;
    // MUTATE[BM_Asserted]: value = 1 => value = 2
    for (Answer value = 1; value < 20; ++value) { sum = joined(sum, checked(opaque(value))); }
    // MUTATE[BM_Asserted]: assert(sum != 4) => (void)sum
    assert(sum != 4);
    return sum;
}

Answer placed() {
    Answer sum = 0;
    for (Answer value = 0; value < 9; ++value) {
        const Answer found = far::looked_up(opaque(value));
        // MUTATE[BM_Placed]: found == 12 => found == 13
        if (found == 12) { far::failed(__FILE__, __LINE__, "found"); }
        sum = joined(sum, found);
    }
    return sum;
}

/// The function's name is read, and is the same wherever the file lies.
Answer spoken() {
    Answer sum = 0;
    // MUTATE[BM_Spoken]: __func__ => "sp0ken"
    for (const char* letter = opaque(static_cast<const char*>(__func__)); *letter != '\0'; ++letter) {
        // MUTATE[BM_Spoken]: (*letter) => (*letter + 1)
        sum = joined(sum, static_cast<Answer>(*letter));
    }
    // MUTATE[BM_Spoken]: __LINE__ => 70
    return joined(sum, __LINE__);
}

void BM_Asserted(benchmark::State& state) {
    repeat(state, asserted);
}
void BM_Placed(benchmark::State& state) {
    repeat(state, placed);
}
void BM_Spoken(benchmark::State& state) {
    repeat(state, spoken);
}
BENCHMARK(BM_Asserted);
BENCHMARK(BM_Placed);
BENCHMARK(BM_Spoken);

}  // namespace

BENCHMARK_MAIN();
