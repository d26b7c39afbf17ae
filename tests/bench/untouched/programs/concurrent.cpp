// Atomic operations, locks and threads.

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "answers.hpp"

namespace far {
void publish(std::atomic<untouched::Answer>& place, untouched::Answer value);
untouched::Answer worked(unsigned number);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

// MUTATE[BM_Atomics]: shared{3} => shared{4}
std::atomic<Answer> shared{3};

Answer atomics() {
    const Answer before = shared.load(std::memory_order_acquire);
    // MUTATE[BM_Atomics]: fetch_add(5 => fetch_add(6
    shared.fetch_add(5, std::memory_order_relaxed);
    // MUTATE[BM_Atomics]: memory_order_release => memory_order_seq_cst
    shared.store(shared.load(std::memory_order_relaxed) ^ 9, std::memory_order_release);
    Answer wanted = shared.load(std::memory_order_relaxed);
    // MUTATE[BM_Atomics]: wanted, wanted + 1 => wanted, wanted + 2
    while (!shared.compare_exchange_weak(wanted, wanted + 1)) {}
    const Answer after = shared.exchange(before);
    // MUTATE[BM_Atomics]: (before, after) => (after, before)
    return joined(before, after);
}

std::mutex first_mutex;
std::mutex second_mutex;
Answer guarded = 0;

Answer locked() {
    Answer sum = 0;
    guarded = 1;
    // MUTATE[BM_Locked]: turn < 8 => turn < 9
    for (unsigned turn = 0; turn < 8; ++turn) {
        // Another lock, nothing else.
        // MUTATE[BM_Locked]: (first_mutex) => (second_mutex)
        const std::scoped_lock lock(first_mutex);
        // MUTATE[BM_Locked]: guarded * 3 => guarded * 5
        guarded = guarded * 3 + turn;
        sum = joined(sum, guarded);
    }
    // MUTATE[BM_Locked]: lock(second_mutex) => lock(first_mutex, second_mutex)
    const std::scoped_lock lock(second_mutex);
    return sum;
}

Answer threads() {
    std::vector<Answer> found(2);
    std::vector<std::thread> all;
    for (unsigned number = 0; number < 2; ++number) {
        // MUTATE[BM_Threads]: worked(number) => worked(number + 1)
        all.emplace_back([number, &found] { found[number] = far::worked(number); });
    }
    for (std::thread& thread : all) { thread.join(); }
    return joined(found[0], found[1]);
}

Answer published() {
    std::atomic<Answer> place{0};
    // MUTATE[BM_Published]: 11) => 12)
    far::publish(place, 11);
    // MUTATE[BM_Published]: fetch_sub => fetch_add
    return joined(place.fetch_sub(2), place.load());
}

void BM_Atomics(benchmark::State& state) {
    repeat(state, atomics);
}
void BM_Locked(benchmark::State& state) {
    repeat(state, locked);
}
void BM_Threads(benchmark::State& state) {
    repeat(state, threads);
}
void BM_Published(benchmark::State& state) {
    repeat(state, published);
}
BENCHMARK(BM_Atomics);
BENCHMARK(BM_Locked);
BENCHMARK(BM_Threads)->UseRealTime();
BENCHMARK(BM_Published);

}  // namespace

BENCHMARK_MAIN();
