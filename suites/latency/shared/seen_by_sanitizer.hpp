// What thread-sanitizer has to be told of locks whose code it cannot see: a library that was built without
// it, or atomic operations in assembler. That they keep their word is then shown by what they guard alone.
#pragma once

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

/// After an acquisition: what came before tell_release() of the same place comes before this.
inline void tell_acquired([[maybe_unused]] void* place) noexcept {
#if defined(TOLL_THREAD_SANITIZER)
    __tsan_acquire(place);
#endif
}

/// Before a release.
inline void tell_release([[maybe_unused]] void* place) noexcept {
#if defined(TOLL_THREAD_SANITIZER)
    __tsan_release(place);
#endif
}

}  // namespace toll::locks
