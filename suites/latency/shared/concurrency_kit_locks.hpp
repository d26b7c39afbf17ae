// Concurrency Kit's spinlocks, under the standard's names. Their atomic operations are assembler.
#pragma once

#include "seen_by_sanitizer.hpp"

// Not ck_spinlock.h, which brings the MCS and CLH locks too: those are C, whose void* becomes any pointer.
#include <ck_pr.h>
#include <spinlock/fas.h>
#include <spinlock/ticket.h>

namespace toll::locks {

/// Test-and-test-and-set with a pause ("fetch and store").
class ConcurrencyKitFas {
public:
    void lock() noexcept {
        ck_spinlock_fas_lock(&lock_);
        tell_acquired(&lock_);
    }
    void unlock() noexcept {
        tell_release(&lock_);
        ck_spinlock_fas_unlock(&lock_);
    }

private:
    ck_spinlock_fas_t lock_ = CK_SPINLOCK_FAS_INITIALIZER;
};

/// A ticket lock whose two counters are one word where the processor has such an operation.
class ConcurrencyKitTicket {
public:
    void lock() noexcept {
        ck_spinlock_ticket_lock(&lock_);
        tell_acquired(&lock_);
    }
    void unlock() noexcept {
        tell_release(&lock_);
        ck_spinlock_ticket_unlock(&lock_);
    }

private:
    ck_spinlock_ticket_t lock_ = CK_SPINLOCK_TICKET_INITIALIZER;
};

}  // namespace toll::locks
