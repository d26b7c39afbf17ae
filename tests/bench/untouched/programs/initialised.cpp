// What runs before main, in main, or once at a function's first call: the measured code shows nothing of it.

#include "initialised.hpp"

#include <map>
#include <string>
#include <vector>

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

int counted = 0;

int next() {
    return ++counted;
}

// MUTATE[BM_Globals]: 41 => 42
Answer with_value = 41;
// From .bss to .data.
// MUTATE[BM_Globals]: = 0 => = 1
Answer without_value = 0;
// MUTATE[BM_Globals]: opaque<Answer>(6) => opaque<Answer>(7)
Answer computed = opaque<Answer>(6) * 7;
// MUTATE[BM_Globals]: one = next(), two = next() => two = next(), one = next()
const int one = next(), two = next();

Answer globals() {
    Answer sum = joined(with_value, without_value);
    sum = joined(sum, computed);
    return joined(joined(sum, static_cast<Answer>(one)), static_cast<Answer>(two));
}

// Equal in content, one of them written to: which is which, only their addresses tell.
Answer g1[4] = {1, 2, 3, 4};
Answer g2[4] = {1, 2, 3, 4};

Answer equal_globals() {
    // MUTATE[BM_EqualGlobals]: g1[1] => g2[1]
    g1[1] = opaque<Answer>(50);
    Answer sum = 0;
    for (std::size_t index = opaque<std::size_t>(0); index < 4; ++index) {
        // MUTATE[BM_EqualGlobals]: g2[index] * 3 => g1[index] * 3
        sum = joined(sum, g1[index] + g2[index] * 3);
    }
    return sum;
}

struct Names {
    // MUTATE[BM_Locals]: {"three", 3} => {"three", 4}
    std::map<std::string, int> numbers{{"one", 1}, {"two", 2}, {"three", 3}};
};

Answer local_statics() {
    static const Names names;
    // MUTATE[BM_Locals]: (3, 8) => (3, 9)
    static const std::vector<Answer> filled(3, 8);
    // MUTATE[BM_Locals]: = 77 => = 78
    static Answer plain = 77;
    Answer sum = opaque(&plain)[0];
    for (const auto& [name, number] : names.numbers) {
        sum = joined(sum, name.size() + static_cast<Answer>(number));
    }
    for (const Answer number : filled) { sum = joined(sum, number); }
    return sum;
}

/// Set by main, by an initialiser of the other file, and by a constructor function.
Answer from_outside() {
    return joined(joined(starting::set_by_main, starting::set_by_other), starting::set_by_constructor);
}

void BM_Globals(benchmark::State& state) {
    repeat(state, globals);
}
void BM_EqualGlobals(benchmark::State& state) {
    repeat(state, equal_globals);
}
void BM_Locals(benchmark::State& state) {
    repeat(state, local_statics);
}
void BM_FromOutside(benchmark::State& state) {
    repeat(state, from_outside);
}
BENCHMARK(BM_Globals);
BENCHMARK(BM_EqualGlobals);
BENCHMARK(BM_Locals);
BENCHMARK(BM_FromOutside);

}  // namespace

int main(int argc, char** argv) {
    // MUTATE[BM_FromOutside]: = 5 => = 6
    starting::set_by_main = 5;
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
