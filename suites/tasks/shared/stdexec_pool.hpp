#pragma once

#include "stdexec_task.hpp"

#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <cstddef>
#include <tuple>
#include <utility>

namespace toll {

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
