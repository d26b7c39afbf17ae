// Constants without a name: merged by the linker, their tails shared, in sections of their own.

#include <array>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "answers.hpp"

namespace far {
untouched::Answer weight(const char* text);
double scaled(double value);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

/// Four additions at once, of a constant of 16 bytes.
Answer wide() {
    alignas(16) std::uint32_t numbers[16];
    for (unsigned index = 0; index < 16; ++index) { numbers[index] = opaque(index); }
    // MUTATE[BM_Wide]: 3, 1, 4, 1 => 3, 1, 4, 2
    static constexpr std::uint32_t added[4] = {3, 1, 4, 1};
    // MUTATE[BM_Wide]: index < 16 => index < 12
    for (unsigned index = 0; index < 16; ++index) { numbers[index] += added[index % 4]; }
    Answer sum = 0;
    for (const std::uint32_t number : numbers) { sum = joined(sum, number); }
    return sum;
}

Answer of_double() {
    double value = opaque(1.5);
    // MUTATE[BM_Doubles]: 0.3 => 0.7
    for (int turn = 0; turn < 10; ++turn) { value = value * 1.1 + 0.3; }
    // MUTATE[BM_Doubles]: -value => value
    return static_cast<Answer>(-value * -1e9 + far::scaled(value));
}

// "cherry" is the end of "sour cherry", and may lie in it.
// MUTATE[BM_Texts]: "plum" => "plUm"
constexpr const char* texts[] = {"apple", "sour cherry", "cherry", "plum"};

Answer of_texts() {
    Answer sum = 0;
    for (const char* text : texts) { sum = joined(sum, far::weight(opaque(text))); }
    // MUTATE[BM_Texts]: "sour apple" => "sour melon"
    return joined(sum, far::weight("sour apple"));
}

Answer of_list() {
    Answer sum = 0;
    // MUTATE[BM_Lists]: 13, 21 => 21, 13
    const std::initializer_list<int> list = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233};
    for (const int number : list) { sum = joined(sum, static_cast<Answer>(opaque(number))); }
    // MUTATE[BM_Lists]: 8, 2 => 8, 3
    static constexpr std::array<std::uint8_t, 9> bytes{1, 1, 2, 9, 8, 2, 7, 5, 6};
    for (std::size_t index = 0; index < bytes.size(); ++index) { sum = joined(sum, bytes[opaque(index)]); }
    // MUTATE[BM_Lists]: "blue" => "teal"
    for (const std::string_view word : {"red", "green", "blue"}) {
        sum = joined(sum, word.back() + word.size());
    }
    return sum;
}

void BM_Wide(benchmark::State& state) {
    repeat(state, wide);
}
void BM_Doubles(benchmark::State& state) {
    repeat(state, of_double);
}
void BM_Texts(benchmark::State& state) {
    repeat(state, of_texts);
}
void BM_Lists(benchmark::State& state) {
    repeat(state, of_list);
}
BENCHMARK(BM_Wide);
BENCHMARK(BM_Doubles);
BENCHMARK(BM_Texts);
BENCHMARK(BM_Lists);

}  // namespace

BENCHMARK_MAIN();
