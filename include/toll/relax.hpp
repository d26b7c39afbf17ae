// What a thread does while it polls memory that another thread will write.
#pragma once

namespace toll {

/// One step of a polling loop: PAUSE on x86 (Intel SDM 2B: it lets the core's sibling run and avoids the
/// memory-order flush at the end of the loop), YIELD on 64-bit Arm, nothing elsewhere.
[[gnu::always_inline]] inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace toll
