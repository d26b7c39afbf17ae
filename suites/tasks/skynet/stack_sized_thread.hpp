#pragma once

#include <pthread.h>
#include <memory>
#include <system_error>
#include <utility>

namespace toll::skynet {

/// A POSIX thread that runs `work`, to be joined or detached once; std::thread without its stack's size being
/// fixed.
class PosixThread {
public:
    PosixThread() = default;

    template <class Work>
    PosixThread(const pthread_attr_t& attributes, Work work) {
        auto mine = std::make_unique<Work>(std::move(work));
        if (const int error = pthread_create(&thread_, &attributes, &run<Work>, mine.get()); error != 0) {
            throw std::system_error(error, std::generic_category(), "pthread_create");
        }
        mine.release();  // run() owns it now
    }

    void join() { pthread_join(thread_, nullptr); }
    void detach() { pthread_detach(thread_); }

private:
    template <class Work>
    static void* run(void* work) {
        (*std::unique_ptr<Work>(static_cast<Work*>(work)))();
        return nullptr;
    }

    pthread_t thread_{};
};

/// What pthread_create is asked for: a stack of the given size.
class ThreadAttributes {
public:
    explicit ThreadAttributes(std::size_t stack_bytes) {
        pthread_attr_init(&attributes_);
        if (const int error = pthread_attr_setstacksize(&attributes_, stack_bytes); error != 0) {
            throw std::system_error(error, std::generic_category(), "pthread_attr_setstacksize");
        }
    }
    ThreadAttributes(const ThreadAttributes&) = delete;
    ThreadAttributes& operator=(const ThreadAttributes&) = delete;
    ~ThreadAttributes() { pthread_attr_destroy(&attributes_); }

    [[nodiscard]] const pthread_attr_t& get() const noexcept { return attributes_; }

private:
    pthread_attr_t attributes_;
};

}  // namespace toll::skynet
