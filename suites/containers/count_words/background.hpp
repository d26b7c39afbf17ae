#pragma once

// Threads that run the same test beside the timed one, to make memory dearer.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace toll::count_words {

/// Threads that call work(go_on) again and again while they are wanted, and sleep while not.
class Background {
public:
    using GoOn = std::function<bool()>;

    /// `work` returns soon after its argument says false.
    Background(unsigned threads, std::function<void(const GoOn&)> work) : work_(std::move(work)) {
        try {
            for (unsigned i = 0; i < threads; ++i) {
                threads_.emplace_back([this] { serve(); });
            }
        } catch (...) {
            end();
            throw;
        }
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    ~Background() { end(); }

    [[nodiscard]] std::size_t threads() const noexcept { return threads_.size(); }

    /// Wants the threads to work as long as it lives. They are awake once it is made, and have their turns as
    /// the scheduler likes: whoever waited for one to begin waited for that one's first turn to end.
    class Busy {
    public:
        explicit Busy(Background& background) : background_(background) { background_.want(works); }
        Busy(const Busy&) = delete;
        Busy& operator=(const Busy&) = delete;
        ~Busy() { background_.want(sleeps); }

    private:
        Background& background_;
    };

    /// Throws again what a thread's work threw.
    void check() const {
        const std::lock_guard lock(mutex_);
        if (failed_) { std::rethrow_exception(failed_); }
    }

private:
    enum Wish : std::uint8_t { sleeps, works, ends };

    void want(Wish wish) {
        if (threads_.empty()) { return; }
        wish_.store(wish);
        wish_.notify_all();
    }

    void end() {
        want(ends);
        for (std::thread& thread : threads_) { thread.join(); }
        threads_.clear();
    }

    void serve() {
        const GoOn go_on = [this] { return wish_.load(std::memory_order_relaxed) == works; };
        for (;;) {
            wish_.wait(sleeps);
            if (wish_.load() == ends) { return; }
            try {
                work_(go_on);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                failed_ = std::current_exception();
                return;
            }
        }
    }

    std::function<void(const GoOn&)> work_;
    std::atomic<Wish> wish_{sleeps};
    mutable std::mutex mutex_;
    std::exception_ptr failed_;
    std::vector<std::thread> threads_;
};

}  // namespace toll::count_words
