// A machine that has few threads left for this process, as where a container's limit of them is reached
// (pids.max). For one file of a test program: it defines the C library's function.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace toll_test {

inline constexpr int any_number = -1;
/// How many threads can still be made.
inline std::atomic<int> threads_left{any_number};

}  // namespace toll_test

#if defined(__clang__) && defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOLL_TEST_OWN_INTERCEPTOR 1  // in this very program, where RTLD_NEXT would pass it by
extern "C" int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
#endif
#endif

/// Stands before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
    if (toll_test::threads_left == 0) { return EAGAIN; }
    if (toll_test::threads_left > 0) { --toll_test::threads_left; }
#if defined(TOLL_TEST_OWN_INTERCEPTOR)
    return __interceptor_pthread_create(thread, attributes, start, argument);
#else
    static const auto theirs =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return theirs(thread, attributes, start, argument);
#endif
}
