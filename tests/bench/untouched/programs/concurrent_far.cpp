#include <atomic>

#include "answers.hpp"

namespace far {

using untouched::Answer;

namespace {

std::atomic<Answer> one{100};
std::atomic<Answer> other{100};

}  // namespace

void publish(std::atomic<Answer>& place, Answer value) {
    // MUTATE[BM_Published]: memory_order_release => memory_order_seq_cst
    place.store(value, std::memory_order_release);
    // MUTATE[BM_Published]: fetch_or(64) => fetch_xor(64)
    place.fetch_or(64);
    // MUTATE[BM_Published]: std::atomic_signal_fence => std::atomic_thread_fence
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

Answer worked(unsigned number) {
    // Two variables of equal content.
    // MUTATE[BM_Threads]: ? one : other => ? one : one
    std::atomic<Answer>& mine = number == 0 ? one : other;
    Answer sum = 0;
    // MUTATE[BM_Threads]: index < 50 => index < 51
    for (Answer index = 0; index < 50; ++index) { sum = untouched::joined(sum, mine.load() + index); }
    return sum;
}

}  // namespace far
