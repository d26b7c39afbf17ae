#include "workload.hpp"

/// What the other rows cost besides their lock.
struct NoLock {
    void lock() noexcept {}
    void unlock() noexcept {}
};

TOLL_CONTENDER(lock, no_lock, NoLock);
