#pragma once

#include "workload.hpp"

#include <pthread.h>
#include <algorithm>
#include <climits>
#include <system_error>

namespace toll::thread_start {

/// How a POSIX thread is to be made.
class ThreadAttributes {
public:
    /// The default stack: `ulimit -s` with glibc.
    ThreadAttributes() { pthread_attr_init(&attributes_); }
    explicit ThreadAttributes(std::size_t stack_bytes) : ThreadAttributes() {
        if (const int error = pthread_attr_setstacksize(&attributes_, stack_bytes); error != 0) {
            throw std::system_error(error, std::generic_category(), "pthread_attr_setstacksize");
        }
    }
    ThreadAttributes(const ThreadAttributes&) = delete;
    ThreadAttributes& operator=(const ThreadAttributes&) = delete;
    ~ThreadAttributes() { pthread_attr_destroy(&attributes_); }

    [[nodiscard]] const pthread_attr_t& get() const noexcept { return attributes_; }

    [[nodiscard]] Footing footing() const {
        std::size_t bytes = 0;
        pthread_attr_getstacksize(&attributes_, &bytes);
        return {{"stack_bytes", bytes}};
    }

private:
    pthread_attr_t attributes_{};
};

/// The smallest stack that a thread may ask for: glibc 2.34 and later add to PTHREAD_STACK_MIN what the
/// kernel saves on a signal, which AVX-512 and AMX enlarge (sysconf(3), _SC_THREAD_STACK_MIN).
inline std::size_t smallest_stack_bytes() {
    return static_cast<std::size_t>(std::max<long>(PTHREAD_STACK_MIN, ::sysconf(_SC_THREAD_STACK_MIN)));
}

/// A POSIX thread a sample.
class PosixThread {
public:
    PosixThread() = default;
    explicit PosixThread(std::size_t stack_bytes) : attributes_(stack_bytes) {}

    void start(Arrival& arrival) {
        if (const int error = pthread_create(&thread_, &attributes_.get(), &run, &arrival); error != 0) {
            throw std::system_error(error, std::generic_category(), "pthread_create");
        }
    }
    void finish() { pthread_join(thread_, nullptr); }
    [[nodiscard]] Footing footing() const { return attributes_.footing(); }

private:
    static void* run(void* arrival) {
        (*static_cast<Arrival*>(arrival))();
        return nullptr;
    }

    ThreadAttributes attributes_;
    pthread_t thread_{};
};

}  // namespace toll::thread_start
