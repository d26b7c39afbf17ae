// Large frames, alloca, and constants that are copied as a whole: by memcpy, by rep movs, by wide registers.

#include <alloca.h>

#include <cstring>

#include "answers.hpp"

namespace far {
struct Big {
    unsigned char bytes[4096];
};
extern const Big big;
extern const Big other_big;
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

Answer of_bytes(const unsigned char* bytes, std::size_t size) {
    Answer sum = 0;
    for (std::size_t index = 0; index < size; index += 7) { sum = joined(sum, bytes[index]); }
    return sum;
}

Answer whole() {
    // MUTATE[BM_Whole]: far::big => far::other_big
    far::Big copy = far::big;
    // MUTATE[BM_Whole]: [opaque(21)] = 3 => [opaque(21)] = 4
    copy.bytes[opaque(21)] = 3;
    return of_bytes(copy.bytes, sizeof copy);
}

/// The size of an instruction's copy is in a register, the place in another.
Answer by_instruction() {
    unsigned char copy[512];
    void* to = copy;
    const void* from = &far::big.bytes[1000];
    // MUTATE[BM_Instruction]: 512 => 256
    std::size_t count = 512;
    std::memset(copy, 1, sizeof copy);
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return of_bytes(copy, sizeof copy);
}

struct Row {
    long numbers[24];
};

Answer rows() {
    // MUTATE[BM_Rows]: 7, 11, 18 => 7, 18, 11
    static const Row row = {{1, 3, 4, 7, 11, 18, 29, 47, 76, 123, 199, 322}};
    Row copy = row;
    // MUTATE[BM_Rows]: [opaque(2)] = 5 => [opaque(3)] = 5
    copy.numbers[opaque(2)] = 5;
    Answer sum = 0;
    for (const long& number : copy.numbers) { sum = joined(sum, static_cast<Answer>(*opaque(&number))); }
    return sum;
}

[[gnu::noinline]] Answer on_stack(std::size_t size) {
    auto* const place = static_cast<unsigned char*>(alloca(size));
    // MUTATE[BM_Stack]: 0x5a => 0x5b
    std::memset(place, 0x5a, size);
    // MUTATE[BM_Stack]: size / 2 => size / 3
    place[size / 2] = 1;
    unsigned char frame[3 * 4096];
    // MUTATE[BM_Stack]: frame, 2 => frame, 6
    std::memset(frame, 2, sizeof frame);
    return joined(of_bytes(opaque(place), size), of_bytes(opaque(&frame[0]), sizeof frame));
}

Answer stack() {
    // MUTATE[BM_Stack]: (700) => (707)
    return on_stack(700);
}

void BM_Whole(benchmark::State& state) {
    repeat(state, whole);
}
void BM_Instruction(benchmark::State& state) {
    repeat(state, by_instruction);
}
void BM_Rows(benchmark::State& state) {
    repeat(state, rows);
}
void BM_Stack(benchmark::State& state) {
    repeat(state, stack);
}
BENCHMARK(BM_Whole);
BENCHMARK(BM_Instruction);
BENCHMARK(BM_Rows);
BENCHMARK(BM_Stack);

}  // namespace

BENCHMARK_MAIN();
