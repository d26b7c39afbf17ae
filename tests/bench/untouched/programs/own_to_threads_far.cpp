#include <string>

#include "answers.hpp"

namespace far {

using untouched::Answer;

// MUTATE[BM_Other]: = 1000 => = 1001
thread_local Answer theirs = 1000;
// MUTATE[BM_Other]: (40, 'x') => (41, 'x')
thread_local std::string theirs_made(40, 'x');

namespace {

struct Made {
    // MUTATE[BM_Other]: theirs + 3 => theirs + 4
    Answer value = theirs + 3;
};

thread_local Made made;
// MUTATE[BM_Other]: 'q' => 'r'
thread_local char letters[] = {'p', 'q'};

}  // namespace

Answer hidden() {
    // MUTATE[BM_Other]: letters[1] => letters[0]
    return untouched::joined(made.value, static_cast<Answer>(letters[1]));
}

}  // namespace far
