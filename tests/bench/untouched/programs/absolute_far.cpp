#include "answers.hpp"

namespace far {

using untouched::Answer;

extern const long numbers[6];
extern const char* const names[4];

// MUTATE[BM_Numbers]: 0x402008 => 0x402010
const long numbers[6] = {0x402008, 0x401000, 0x404060, 3, 0x402010, 0x403ff8};

// MUTATE[BM_Names]: "north" => "morth"
const char* const names[4] = {"north", "east",
                              // MUTATE[BM_Names]: "south", "west" => "west", "south"
                              "south", "west"};

Answer chosen(unsigned kind, Answer value) {
    switch (kind) {
        // MUTATE[BM_Switched]: value + 9 => value + 10
        case 0: return value + 9;
        case 1: return value * 7;
        // MUTATE[BM_Switched]: value >> 3 => value >> 2
        case 2: return value >> 3;
        case 3: return value % 17;
        case 4: return value ^ 0x402010;
        // MUTATE[BM_Switched]: value / 5 => value / 4
        case 5: return value / 5;
        default: return value;
    }
}

}  // namespace far
