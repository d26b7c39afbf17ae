#include "answers.hpp"

namespace far {

using untouched::Answer;
using Step = Answer (*)(Answer);

struct Machine {
    Answer held;
    // MUTATE[BM_OtherFile]: held + by => held - by
    [[gnu::noinline]] Answer up(Answer by) const { return held + by; }
    [[gnu::noinline]] Answer around(Answer by) const { return held ^ (by * 3); }
};

namespace {

using Act = Answer (Machine::*)(Answer) const;
// MUTATE[BM_OtherFile]: &Machine::up, &Machine::around => &Machine::around, &Machine::up
const Act acts[] = {&Machine::up, &Machine::around};

template <int which>
Answer through(Answer value) {
    // MUTATE[BM_OtherFile]: {8} => {9}
    const Machine machine{8};
    return (machine.*untouched::opaque(&acts[0])[which])(value);
}

Answer plain(Answer value) {
    // MUTATE[BM_OtherFile]: 0x10001 => 0x10003
    return value * 0x10001;
}

}  // namespace

extern const Step steps[4];
// MUTATE[BM_OtherFile]: through<0>, plain => plain, through<0>
const Step steps[4] = {through<0>, plain, through<1>, plain};

}  // namespace far
