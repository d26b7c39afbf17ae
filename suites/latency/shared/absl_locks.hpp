// Abseil's lock.
#pragma once

#include <absl/synchronization/mutex.h>

#if defined(__SANITIZE_THREAD__)
#define TOLL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TOLL_THREAD_SANITIZER 1
#endif
#endif
#if defined(TOLL_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace toll::locks {

/// absl::Mutex under the standard's names. It spins for a while, then sleeps; it is fair only in that nobody
/// waits for ever.
///
/// Its code is in a library that distributions build without thread-sanitizer, which then cannot see that one
/// owner comes after another. Under the sanitizer this class says so; that absl::Mutex keeps its word is then
/// shown by what it guards alone.
class AbslMutex {
public:
    void lock() {
        mutex_.Lock();
#if defined(TOLL_THREAD_SANITIZER)
        __tsan_acquire(&mutex_);
#endif
    }
    void unlock() {
#if defined(TOLL_THREAD_SANITIZER)
        __tsan_release(&mutex_);
#endif
        mutex_.Unlock();
    }

private:
    absl::Mutex mutex_;
};

}  // namespace toll::locks
