#include "whole.hpp"

namespace far {

using untouched::Answer;

namespace {

Answer started() {
    // MUTATE[BM_Kept]: (70) => (71)
    static Answer value = untouched::opaque<Answer>(70);
    return value;
}

}  // namespace

Answer tripled(Answer value) {
    // MUTATE[BM_Inlined]: value * 3 => value * 5
    return untouched::opaque(value * 3);
}

[[gnu::noinline]] Answer powered(Answer value, unsigned exponent) {
    // MUTATE[BM_Cloned]: found = 1 => found = 2
    Answer found = 1;
    // MUTATE[BM_Cloned]: found *= value => found += value
    for (unsigned turn = 0; turn < exponent; ++turn) { found *= value; }
    return found;
}

Answer table_entry(std::size_t index) {
    // MUTATE[BM_Kept]: 5, 3, 5, 8 => 5, 8, 5, 3
    static const int entries[8] = {9, 7, 9, 2, 5, 3, 5, 8};
    // MUTATE[BM_Kept]: + started() => - started()
    return static_cast<Answer>(entries[untouched::opaque(index)]) + started();
}

}  // namespace far
