#include "answers.hpp"

namespace far {

using untouched::Answer;

[[gnu::target_clones("avx512f", "avx2", "default")]] Answer total(const std::uint32_t* numbers,
                                                                  unsigned count) {
    std::uint32_t sum = 0;
    // MUTATE[BM_Cloned]: * 5 => * 7
    for (unsigned index = 0; index < count; ++index) { sum += numbers[index] * 5; }
    // MUTATE[BM_Cloned]: sum ^ 1 => sum ^ 3
    return sum ^ 1;
}

namespace {

// Versions written by hand, each of which may change alone.
[[gnu::target("default"), gnu::noinline]] Answer version() {
    // MUTATE[BM_Versions !avx2]: 1000 => 1001
    return untouched::opaque<Answer>(1000);
}
[[gnu::target("avx2"), gnu::noinline]] Answer version() {
    // MUTATE[BM_Versions avx2 !avx512f]: 1002 => 1003
    return untouched::opaque<Answer>(1002);
}
[[gnu::target("avx512f"), gnu::noinline]] Answer version() {
    // MUTATE[BM_Versions avx512f]: 1004 => 1005
    return untouched::opaque<Answer>(1004);
}

Answer plain(Answer value) {
    // MUTATE[BM_Versions]: value / 3 => value / 5
    return value / 3;
}
Answer other(Answer value) {
    return value * 3;
}

}  // namespace

using Chosen = Answer(Answer);

extern "C" {
/// Run by the loader, long before main.
[[gnu::used]] static Chosen* choose() {
    __builtin_cpu_init();
    // MUTATE[BM_Versions]: ? plain : other => ? other : plain
    return __builtin_cpu_supports("sse2") ? plain : other;
}
[[gnu::ifunc("choose")]] Answer chosen_by_loader(Answer value);
}

Answer widest() {
    // MUTATE[BM_Versions]: version() * 2 => version() * 3
    return chosen_by_loader(version() * 2);
}

}  // namespace far
