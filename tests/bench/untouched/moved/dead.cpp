// What nobody calls and the linker keeps: functions, tables, texts, variables that move those of the program.

#include <cstdint>

namespace dead {

extern const char* const texts[3];
extern const std::uint64_t table[5];
extern std::uint64_t filled[3];
extern std::uint64_t empty[7];

// Tails of them are texts of the programs.
[[gnu::used, gnu::retain]] const char* const texts[3] = {"a very sour cherry", "as dead as three",
                                                         "infrared"};
[[gnu::used, gnu::retain]] const std::uint64_t table[5] = {3, 1, 4, 1, 5};
[[gnu::used, gnu::retain]] std::uint64_t filled[3] = {2, 7, 1};
[[gnu::used, gnu::retain]] std::uint64_t empty[7] = {};

[[gnu::used, gnu::retain, gnu::noinline]] static double halved(double value) {
    return value * 0.5 + 1.1;
}

[[gnu::used, gnu::retain, gnu::noinline]] static std::uint64_t switched(std::uint64_t value) {
    switch (value) {
        case 0: return table[1] * 3;
        case 1: return filled[2] / 7;
        case 2: return empty[3] ^ value;
        case 3: return value % 11;
        case 4: return static_cast<std::uint64_t>(halved(2.25));
        default: return static_cast<std::uint64_t>(texts[value % 3][0]);
    }
}

[[gnu::used, gnu::retain]] static std::uint64_t looped(std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t turn = 0; turn < count; ++turn) { sum += switched(turn % 6) * table[turn % 5]; }
    return sum;
}

}  // namespace dead
