// thread_local: initial values lie in a template that the loader copies, code knows an offset alone.

#include <string>
#include <thread>

#include "answers.hpp"

namespace far {
extern thread_local untouched::Answer theirs;
extern thread_local std::string theirs_made;
untouched::Answer hidden();
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

// MUTATE[BM_Own, BM_Thread]: = 12 => = 13
thread_local Answer own = 12;
// MUTATE[BM_Own]: {1, 2, 3} => {1, 3, 2}
thread_local int own_list[3] = {1, 2, 3};
// From the zeros of .tbss to .tdata.
// MUTATE[BM_Own, BM_Thread]: own_empty = 0 => own_empty = 3
thread_local Answer own_empty = 0;

Answer of_this_file() {
    Answer sum = joined(own, own_empty);
    for (const int& number : own_list) { sum = joined(sum, static_cast<Answer>(*opaque(&number))); }
    return sum;
}

/// The other file's, one of them with a constructor: behind a function that makes it at first use.
Answer of_other_file() {
    // MUTATE[BM_Other]: far::theirs * 2 => far::theirs * 3
    return joined(joined(far::theirs * 2, far::theirs_made.size()), far::hidden());
}

/// A new thread has the initial values, whatever this one wrote.
Answer in_a_thread() {
    Answer sum = 0;
    // MUTATE[BM_Thread]: own = 99 => own_empty = 99
    std::thread([&] { sum = joined(own, own_empty), own = 99, sum = joined(sum, own + own_empty); }).join();
    // MUTATE[BM_Thread]: sum + 1 => sum + 2
    return sum + 1;
}

void BM_Own(benchmark::State& state) {
    repeat(state, of_this_file);
}
void BM_Other(benchmark::State& state) {
    repeat(state, of_other_file);
}
void BM_Thread(benchmark::State& state) {
    repeat(state, in_a_thread);
}
BENCHMARK(BM_Own);
BENCHMARK(BM_Other);
BENCHMARK(BM_Thread);

}  // namespace

BENCHMARK_MAIN();
