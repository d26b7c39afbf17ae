#include "own_library.hpp"

/// The library calls this one, although it has one of that name itself.
extern "C" untouched::Answer owned_answered(untouched::Answer value) {
    // MUTATE[BM_Interposed]: value * 11 => value * 13
    return value * 11;
}
