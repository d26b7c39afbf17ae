#include "own_library.hpp"

using untouched::Answer;
using untouched::joined;

extern "C" {
// MUTATE[BM_Values]: = 90 => = 91
Answer owned_value = 90;
// MUTATE[BM_Values]: 3, 4 => 4, 3
const int owned_table[4] = {1, 2, 3, 4};

Answer owned_mixed(Answer value) {
    // MUTATE[BM_Called]: {4, 5, 6} => {4, 6, 5}
    static const unsigned char weights[] = {4, 5, 6};
    // MUTATE[BM_Called]: value >> 1 => value >> 2
    return joined(value, weights[value % 3] + (value >> 1));
}

[[gnu::weak]] Answer owned_answered(Answer value) {
    return value;
}

Answer owned_calls_back(Answer value) {
    // MUTATE[BM_Interposed]: value + 1 => value + 3
    return owned_answered(value + 1);
}
}

namespace {

[[gnu::constructor]] void loaded() {
    // MUTATE[BM_Values]: += 6 => += 7
    owned_value += 6;
}

}  // namespace
