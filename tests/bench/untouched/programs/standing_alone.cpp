// Linked statically: libc's functions and their versions for each machine lie in the program.

#include <cstdlib>
#include <cstring>
#include <string>

#include "answers.hpp"

namespace far {
std::string sentence(int number);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

Answer lengths() {
    Answer sum = 0;
    for (const char* text : {"a text", "another one", ""}) {
        // MUTATE[BM_Lengths]: std::strlen(opaque(text)) => strnlen(opaque(text), 5)
        sum = joined(sum, std::strlen(opaque(text)));
        // MUTATE[BM_Lengths]: std::strchr => std::strrchr
        const char* const found = std::strchr(opaque(text), 't');
        sum = joined(sum, found == nullptr ? 0 : static_cast<Answer>(found - text));
    }
    return sum;
}

Answer sentences() {
    Answer sum = 0;
    // MUTATE[BM_Sentences]: number < 5 => number < 6
    for (int number = 0; number < 5; ++number) {
        for (const char letter : far::sentence(number)) { sum = joined(sum, static_cast<Answer>(letter)); }
    }
    return sum;
}

int descending(const void* a, const void* b) {
    // MUTATE[BM_Sorted]: (b) - => (b) / 2 -
    return *static_cast<const int*>(b) - *static_cast<const int*>(a);
}

Answer sorted() {
    int numbers[40];
    // MUTATE[BM_Sorted]: % 83 => % 79
    for (int index = 0; index < 40; ++index) { numbers[index] = index * 17 % 83; }
    std::qsort(numbers, 40, sizeof numbers[0], descending);
    Answer sum = 0;
    for (const int number : numbers) { sum = joined(sum, static_cast<Answer>(number)); }
    return sum;
}

void BM_Lengths(benchmark::State& state) {
    repeat(state, lengths);
}
void BM_Sentences(benchmark::State& state) {
    repeat(state, sentences);
}
void BM_Sorted(benchmark::State& state) {
    repeat(state, sorted);
}
BENCHMARK(BM_Lengths);
BENCHMARK(BM_Sentences);
BENCHMARK(BM_Sorted);

}  // namespace

BENCHMARK_MAIN();
