// Concurrency Kit's locks, under the standard's names. Their atomic operations are assembler.
#pragma once

#include "seen_by_sanitizer.hpp"

// Not ck_spinlock.h, which brings the MCS and CLH locks too: those are C, whose void* becomes any pointer.
#include <ck_pr.h>
#include <ck_rwlock.h>
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

/// A count of readers and a flag of the writer, for which new readers wait; nobody sleeps.
class ConcurrencyKitRwlock {
public:
    void lock() noexcept {
        ck_rwlock_write_lock(&lock_);
        tell_acquired(&lock_);
    }
    void unlock() noexcept {
        tell_release(&lock_);
        ck_rwlock_write_unlock(&lock_);
    }
    void lock_shared() noexcept {
        ck_rwlock_read_lock(&lock_);
        tell_acquired(&lock_);
    }
    void unlock_shared() noexcept {
        tell_release(&lock_);
        ck_rwlock_read_unlock(&lock_);
    }

private:
    ck_rwlock_t lock_ = CK_RWLOCK_INITIALIZER;
};

}  // namespace toll::locks
