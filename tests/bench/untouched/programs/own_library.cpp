// A library of the program's own beside it, another one that it opens by itself, and names found in both.

#include <dlfcn.h>

#include <cstdlib>

#include "own_library.hpp"

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

Answer called() {
    Answer sum = 0;
    // MUTATE[BM_Called]: number < 6 => number < 7
    for (Answer number = 0; number < 6; ++number) { sum = joined(sum, owned_mixed(opaque(number))); }
    return sum;
}

/// Lies in this program by a copy relocation, its initial value in the library.
Answer values() {
    return joined(owned_value, static_cast<Answer>(owned_table[opaque(2)]));
}

Answer interposed() {
    // MUTATE[BM_Interposed]: (9) => (8)
    return owned_calls_back(9);
}

Answer plugged() {
    using Plugged = Answer (*)(Answer);
    static const auto found = [] {
        void* const library = dlopen("libplugged.so", RTLD_NOW);
        // MUTATE[BM_Plugged]: "plugged_one" => "plugged_two"
        return library == nullptr ? nullptr : reinterpret_cast<Plugged>(dlsym(library, "plugged_one"));
    }();
    if (found == nullptr) { std::abort(); }
    return found(opaque<Answer>(3));
}

void BM_Called(benchmark::State& state) {
    repeat(state, called);
}
void BM_Values(benchmark::State& state) {
    repeat(state, values);
}
void BM_Interposed(benchmark::State& state) {
    repeat(state, interposed);
}
void BM_Plugged(benchmark::State& state) {
    repeat(state, plugged);
}
BENCHMARK(BM_Called);
BENCHMARK(BM_Values);
BENCHMARK(BM_Interposed);
BENCHMARK(BM_Plugged);

}  // namespace

BENCHMARK_MAIN();
