#pragma once

#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <cstddef>
#include <tuple>
#include <utility>

namespace toll {

/// What a task of C++26 is told: to go on where it was resumed. By default it would come back to the
/// scheduler that it began on after each wait, through a type-erased copy of that.
struct GoingOnWhereResumed {
    using scheduler_type = stdexec::inline_scheduler;
    using start_scheduler_type = stdexec::inline_scheduler;  // the same, since the standard's last change
};

/// C++26's std::execution::task, as stdexec has it.
template <class Result>
using StdexecTask = stdexec::task<Result, GoingOnWhereResumed>;

/// stdexec's pool, whose threads have a queue each and take from each other; the calling thread waits.
class StdexecPool {
public:
    using Scheduler = exec::static_thread_pool::scheduler;

    /// Others take whole blocks of a thread's queue, of this many tasks: of fewer they take none.
    explicit StdexecPool(unsigned threads, std::size_t block = exec::bwos_params{}.blockSize)
        : pool_(threads, exec::bwos_params{.blockSize = block}) {}

    [[nodiscard]] Scheduler scheduler() noexcept { return pool_.get_scheduler(); }

    /// The task's result; it begins on the pool. What it throws comes here.
    template <class Result>
    Result execute(StdexecTask<Result> task) {
        auto result = stdexec::sync_wait(stdexec::starts_on(scheduler(), std::move(task))).value();
        if constexpr (std::tuple_size_v<decltype(result)> > 0) { return std::get<0>(result); }
    }

private:
    exec::static_thread_pool pool_;
};

}  // namespace toll
