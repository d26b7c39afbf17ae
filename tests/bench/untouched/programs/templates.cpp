// Templates over many types; the linker folds functions that are equal, and one address has several names.

#include <cstdint>
#include <deque>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "answers.hpp"

namespace far {
template <class Number>
untouched::Answer summed(const std::vector<Number>& numbers);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

template <class Number, int factor>
[[gnu::noinline]] Answer multiplied(Number number) {
    // MUTATE[BM_Many]: + 1 => + 2
    return static_cast<Answer>(number) * static_cast<Answer>(factor) + 1;
}

Answer many() {
    // MUTATE[BM_Many]: long, 3 => long, 4
    Answer sum = multiplied<long, 3>(opaque(5L));
    // Equal code, folded with the one above it.
    sum = joined(sum, multiplied<long long, 3>(opaque(6LL)));
    // MUTATE[BM_Many]: <unsigned, 3> => <unsigned char, 3>
    sum = joined(sum, multiplied<unsigned, 3>(opaque(700U)));
    // MUTATE[BM_Many]: short, 5 => int, 5
    return joined(sum, multiplied<short, 5>(static_cast<short>(opaque(70'000))));
}

template <class Number>
std::vector<Number> filled(int count) {
    std::vector<Number> numbers;
    for (int index = 0; index < count; ++index) { numbers.push_back(static_cast<Number>(index * 37)); }
    return numbers;
}

Answer containers() {
    // MUTATE[BM_Containers]: std::uint8_t => std::int8_t
    Answer sum = far::summed(filled<std::uint8_t>(20));
    // MUTATE[BM_Containers]: (21) => (22)
    sum = joined(sum, far::summed(filled<std::int32_t>(21)));
    // MUTATE[BM_Containers]: float => double
    return joined(sum, far::summed(filled<float>(22)));
}

struct Alpha {};
struct Beta {};

/// The text that describes a type is read; the code only holds an address.
template <class Type>
[[gnu::noinline]] Answer named() {
    Answer sum = 0;
    for (const char* letter = opaque(typeid(Type).name()); *letter != '\0'; ++letter) {
        sum = joined(sum, static_cast<Answer>(*letter));
    }
    return sum;
}

Answer type_names() {
    // MUTATE[BM_TypeNames]: named<Alpha>() => named<Beta>()
    Answer sum = named<Alpha>();
    // MUTATE[BM_TypeNames]: const char* => const long*
    sum = joined(sum, named<const char*>());
    // MUTATE[BM_TypeNames]: std::deque<Beta> => std::deque<Alpha>
    return joined(sum, named<std::deque<Beta>>());
}

void BM_Many(benchmark::State& state) {
    repeat(state, many);
}
void BM_Containers(benchmark::State& state) {
    repeat(state, containers);
}
void BM_TypeNames(benchmark::State& state) {
    repeat(state, type_names);
}
BENCHMARK(BM_Many);
BENCHMARK(BM_Containers);
BENCHMARK(BM_TypeNames);

}  // namespace

BENCHMARK_MAIN();
