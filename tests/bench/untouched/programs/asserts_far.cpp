#include "asserts.hpp"

#include <cassert>
#include <cstdio>
#include <cstdlib>

namespace far {

using untouched::Answer;

Answer looked_up(Answer value) {
    // MUTATE[BM_Placed]: 8, 13 => 8, 14
    static const int numbers[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
    // MUTATE[BM_Placed]: < sizeof numbers => <= sizeof numbers
    assert(value < sizeof numbers / sizeof numbers[0]);
    // MUTATE[BM_Placed]: * 2 => * 3
    return static_cast<Answer>(numbers[value] * 2) + 1;
}

void failed(const char* file, int line, const char* what) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
    std::abort();
}

}  // namespace far
