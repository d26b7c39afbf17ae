// One function, several machines: which of its versions runs is known when the program is loaded.

#include "answers.hpp"

namespace far {
untouched::Answer total(const std::uint32_t* numbers, unsigned count);
untouched::Answer widest();
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

constexpr unsigned count = 64;

Answer cloned() {
    std::uint32_t numbers[count];
    // MUTATE[BM_Cloned]: index * 3 => index * 5
    for (unsigned index = 0; index < count; ++index) { numbers[index] = opaque(index * 3); }
    return far::total(numbers, count);
}

Answer versions() {
    return far::widest();
}

/// A version that a simulator of the processor, which knows fewer instructions, would not run.
[[gnu::target("avx512f"), gnu::noinline]] Answer on_wide_machines(Answer value) {
    // MUTATE[BM_Asked avx512f]: * 21 => * 23
    return value * 21;
}

[[gnu::noinline]] Answer on_all_machines(Answer value) {
    return value * 21;
}

Answer asked() {
    Answer sum = opaque<Answer>(5);
    if (__builtin_cpu_supports("avx512f")) {
        sum = on_wide_machines(sum);
    } else {
        sum = on_all_machines(sum);
    }
    // MUTATE[BM_Asked]: "popcnt" => "xop"
    if (__builtin_cpu_supports("popcnt")) { sum += 3; }
    // MUTATE[BM_Asked sse2]: += 6 => += 7
    if (__builtin_cpu_supports("sse2")) { sum += 6; }
    return sum;
}

void BM_Cloned(benchmark::State& state) {
    repeat(state, cloned);
}
void BM_Versions(benchmark::State& state) {
    repeat(state, versions);
}
void BM_Asked(benchmark::State& state) {
    repeat(state, asked);
}
BENCHMARK(BM_Cloned);
BENCHMARK(BM_Versions);
BENCHMARK(BM_Asked);

}  // namespace

BENCHMARK_MAIN();
