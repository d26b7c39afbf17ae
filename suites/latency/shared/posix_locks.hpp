// POSIX threads' locks (pthread_mutex_lock(3p), pthread_spin_lock(3p), sem_wait(3p)).
#pragma once

#include <toll/errors.hpp>

#include <pthread.h>
#include <semaphore.h>
#include <cerrno>
#include <system_error>

namespace toll::locks {

/// A POSIX mutex of one type. Results of lock and unlock are not looked at: on a mutex that was initialised
/// and is locked by its own owner alone, neither can fail.
class PthreadMutexOfType {
public:
    explicit PthreadMutexOfType(int type) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, type);
        const int error = pthread_mutex_init(&mutex_, &attributes);
        pthread_mutexattr_destroy(&attributes);
        if (error != 0) { throw std::system_error(error, std::generic_category(), "pthread_mutex_init"); }
    }
    PthreadMutexOfType(const PthreadMutexOfType&) = delete;
    PthreadMutexOfType& operator=(const PthreadMutexOfType&) = delete;
    ~PthreadMutexOfType() { pthread_mutex_destroy(&mutex_); }

    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }
    /// For a condition variable beside it.
    [[nodiscard]] pthread_mutex_t* native_handle() noexcept { return &mutex_; }

private:
    pthread_mutex_t mutex_;
};

class PthreadMutex : public PthreadMutexOfType {
public:
    PthreadMutex() : PthreadMutexOfType(PTHREAD_MUTEX_NORMAL) {}
};

/// glibc's adaptive mutex: spins for a while, by what earlier waits took (nptl/pthread_mutex_lock.c), then
/// sleeps. Throws Unsupported where the C library has none.
class PthreadAdaptiveMutex : public PthreadMutexOfType {
public:
    PthreadAdaptiveMutex() : PthreadMutexOfType(type()) {}

private:
    static int type() {
#if defined(__GLIBC__)
        return PTHREAD_MUTEX_ADAPTIVE_NP;
#else
        throw Unsupported("this C library has no adaptive mutex; glibc has");
#endif
    }
};

class PthreadSpinlock {
public:
    PthreadSpinlock() {
        if (const int error = pthread_spin_init(&spinlock_, PTHREAD_PROCESS_PRIVATE); error != 0) {
            throw std::system_error(error, std::generic_category(), "pthread_spin_init");
        }
    }
    PthreadSpinlock(const PthreadSpinlock&) = delete;
    PthreadSpinlock& operator=(const PthreadSpinlock&) = delete;
    ~PthreadSpinlock() { pthread_spin_destroy(&spinlock_); }

    void lock() noexcept { pthread_spin_lock(&spinlock_); }
    void unlock() noexcept { pthread_spin_unlock(&spinlock_); }

private:
    pthread_spinlock_t spinlock_{};
};

/// A semaphore that holds the one permission to go on.
class PosixSemaphore {
public:
    PosixSemaphore() {
        if (sem_init(&semaphore_, 0, 1) != 0) {
            throw std::system_error(errno, std::generic_category(), "sem_init");
        }
    }
    PosixSemaphore(const PosixSemaphore&) = delete;
    PosixSemaphore& operator=(const PosixSemaphore&) = delete;
    ~PosixSemaphore() { sem_destroy(&semaphore_); }

    void lock() noexcept {
        while (sem_wait(&semaphore_) != 0 && errno == EINTR) {}
    }
    void unlock() noexcept { sem_post(&semaphore_); }

private:
    sem_t semaphore_{};
};

}  // namespace toll::locks
