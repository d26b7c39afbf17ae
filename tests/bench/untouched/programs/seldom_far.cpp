#include "answers.hpp"

namespace far {

using untouched::Answer;
using untouched::opaque;

namespace {

// MUTATE[BM_Count]: {2, 4} => {3, 3}
const Answer parts[] = {2, 4};

}  // namespace

Answer tidied(Answer value) {
    Answer sum = 0;
    for (const Answer& part : parts) {
        // MUTATE[BM_Count]: turn < 100 => turn < 300
        for (int turn = 0; turn < 100; ++turn) { sum = opaque(sum); }
        sum += value * *opaque(&part);
    }
    return sum;
}

}  // namespace far
