#include "answers.hpp"

namespace far {

using untouched::Answer;

Answer chosen(unsigned kind, Answer value) {
    Answer found = 0;
    switch (kind) {
        // MUTATE[BM_Elsewhere]: = 40 => = 41
        case 0: found = 40; [[fallthrough]];
        case 1: found += value; break;
        // MUTATE[BM_Elsewhere]: & 0xff => & 0xfe
        case 2: found = value & 0xff; break;
        case 3: found = value * value; break;
        // MUTATE[BM_Elsewhere]: found = 6; break; => found = 6; [[fallthrough]];
        case 4: found = 6; break;
        case 5: found ^= value / 3; break;
        default: found = 1;
    }
    return found;
}

}  // namespace far
