#pragma once

#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>

#include <utility>

namespace toll {

/// cppcoro's pool, which steals work; the calling thread waits.
class CppcoroPool {
public:
    explicit CppcoroPool(unsigned threads) : pool_(threads) {}

    [[nodiscard]] cppcoro::static_thread_pool& pool() noexcept { return pool_; }

    /// What `task` returns, which a thread of the pool begins.
    template <class Result>
    Result execute(cppcoro::task<Result> task) {
        return cppcoro::sync_wait(begun_in(pool_, std::move(task)));
    }

private:
    template <class Result>
    static cppcoro::task<Result> begun_in(cppcoro::static_thread_pool& pool, cppcoro::task<Result> task) {
        co_await pool.schedule();
        co_return co_await std::move(task);
    }

    cppcoro::static_thread_pool pool_;
};

}  // namespace toll
