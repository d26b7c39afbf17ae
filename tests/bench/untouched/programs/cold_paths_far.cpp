#include "answers.hpp"

namespace far {

using untouched::Answer;

bool is_even(unsigned number);
bool is_odd(unsigned number);
Answer walked(unsigned depth, Answer value);

[[gnu::noinline]] bool is_even(unsigned number) {
    // MUTATE[BM_Circle]: number == 0 => number <= 1
    return number == 0 || is_odd(number - 1);
}

[[gnu::noinline]] bool is_odd(unsigned number) {
    // MUTATE[BM_Circle]: number - 1 => number - 3
    return number > 2 ? is_even(number - 1) : number == 1;
}

namespace {

Answer left(unsigned depth, Answer value);

// Two functions that change bodies: all code is there before and after.
// MUTATE[BM_Tails]: 3) SECOND(right, 5) => 5) SECOND(right, 3)
#define BOTH FIRST(left, 3) SECOND(right, 5)
#define FIRST(name, factor)                                       \
    [[gnu::noinline]] Answer name(unsigned depth, Answer value) { \
        return walked(depth - 1, value * (factor));               \
    }
#define SECOND(name, factor) FIRST(name, factor)
BOTH

}  // namespace

[[gnu::noinline]] Answer walked(unsigned depth, Answer value) {
    // MUTATE[BM_Tails]: return value => return value + 1
    if (depth == 0) { return value; }
    // MUTATE[BM_Tails]: % 3 == 0 => % 2 == 0
    if (depth % 3 == 0) { return left(depth, value + 1); }
    // MUTATE[BM_Tails]: value ^ depth => value + depth
    return right(depth, value ^ depth);
}

}  // namespace far
