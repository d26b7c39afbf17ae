#include "answers.hpp"

using untouched::Answer;

extern "C" {
Answer plugged_one(Answer value);
Answer plugged_two(Answer value);

Answer plugged_one(Answer value) {
    // MUTATE[BM_Plugged]: value * 19 => value * 21
    return value * 19;
}

Answer plugged_two(Answer value) {
    return value * 23;
}
}
