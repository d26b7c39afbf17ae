// What stands between two accesses to memory where their times must not flow into each other.
//
// Instructions and not std::atomic_thread_fence: thread-sanitizer does not know fences, and it need not know
// these, by which nobody synchronises.
#pragma once

#include <atomic>

namespace toll {

/// Returns once every earlier store of this thread can be seen by all CPUs. x86 lets a store wait behind
/// earlier ones (Intel SDM 3A, 9.2; AMD APM 2, 7.2): a signal that is timed just after other stores that miss
/// the cache is timed with their misses, though the clock waited for all instructions before it.
[[gnu::always_inline]] inline void drain_stores() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    asm volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dsb ish" ::: "memory");
#else
    std::atomic<int> own{0};
    own.exchange(1, std::memory_order_seq_cst);
#endif
}

/// Returns once every earlier instruction has completed, loads and locked ones with their cache misses; the
/// later ones do not start before (Intel SDM 2A, LFENCE; on AMD with the dispatch-serializing setting that
/// Linux makes). Without it a CPU fetches the line of its next store while the last lock is still on its way.
[[gnu::always_inline]] inline void await_instructions() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dsb ish\n\tisb" ::: "memory");
#else
    drain_stores();
#endif
}

}  // namespace toll
