#include "initialised.hpp"

namespace starting {

using untouched::Answer;

Answer set_by_main = 0;
Answer set_by_other = 0;
Answer set_by_constructor = 0;

namespace {

struct Setter {
    // MUTATE[BM_FromOutside]: value * 2 => value * 3
    explicit Setter(Answer value) { set_by_other = value * 2; }
};

// MUTATE[BM_FromOutside]: (21) => (20)
const Setter setter(21);

[[gnu::constructor]] void constructed() {
    // MUTATE[BM_FromOutside]: = 9 => = 8
    set_by_constructor = 9;
}

}  // namespace
}  // namespace starting
