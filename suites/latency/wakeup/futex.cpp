#include "workload.hpp"

#include <linux/futex.h>

struct Futex {
    std::atomic<std::uint32_t> raised{0};
    void raise() {
        raised.store(1, std::memory_order_release);
        ::syscall(SYS_futex, &raised, FUTEX_WAKE_PRIVATE, 1);
    }
    void wait() {
        while (raised.load(std::memory_order_acquire) == 0) {
            ::syscall(SYS_futex, &raised, FUTEX_WAIT_PRIVATE, 0, nullptr);
        }
    }
    void disarm() { raised.store(0, std::memory_order_relaxed); }
};

TOLL_CONTENDER(wakeup, futex, Futex);
