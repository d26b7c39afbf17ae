// Paths that one launch, or a short one, need not take: chosen by an address, by a count, by a device.

#include <cstdint>
#include <random>

#include "answers.hpp"

namespace far {
untouched::Answer tidied(untouched::Answer value);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

/// The same product in two ways, by two functions of unlike code.
[[gnu::noinline]] Answer multiplied(Answer value) {
    return value * 40;
}
[[gnu::noinline]] Answer shifted(Answer value) {
    // MUTATE[BM_Address, BM_Device]: value << 5 => value << 6
    return opaque(value << 5) + opaque(value << 3);
}

/// The stack begins at a random address.
Answer by_address() {
    const auto address = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    // MUTATE[BM_Address]: >> 13 => >> 14
    if (((address >> 13) & 1) != 0) { return multiplied(opaque<Answer>(3)); }
    return shifted(opaque<Answer>(3));
}

Answer by_device() {
    static const bool tossed = (std::random_device()() & 1) != 0;
    // MUTATE[BM_Device]: (9) : => (8) :
    return tossed ? multiplied(9) : shifted(9);
}

Answer calls = 0;

/// Tidies up now and then, as caches and hash tables do: later than a launch of few iterations ends.
Answer by_count() {
    const Answer value = opaque<Answer>(17);
    // MUTATE[BM_Count]: 5'000 => 4'000
    if (++calls % 5'000 == 0) { return far::tidied(value); }
    // MUTATE[BM_Count]: value * 6 => value * 7
    return value * 6;
}

void BM_Address(benchmark::State& state) {
    repeat(state, by_address);
}
void BM_Device(benchmark::State& state) {
    repeat(state, by_device);
}
void BM_Count(benchmark::State& state) {
    repeat(state, by_count);
}
BENCHMARK(BM_Address);
BENCHMARK(BM_Device);
BENCHMARK(BM_Count);

}  // namespace

BENCHMARK_MAIN();
