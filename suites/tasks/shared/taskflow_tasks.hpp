#pragma once

#include <taskflow/taskflow.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace toll {

// Taskflow's way to fork and join within a task: task groups since 4.0, before that the runtime that a task
// is given. A closure of two words fits into Taskflow's task; with a third one each task would call malloc.

#if TF_VERSION >= 400000

/// What a task needs to fork: nothing, as there is one executor a process. It lies where the compiler knows:
/// by a pointer a task of tasks/fib took an eighth longer.
struct TaskflowScope {
    static inline std::optional<tf::Executor> executor;
};

/// The tasks that one task forks. What they are given as an argument is a scope of their own.
class TaskflowGroup {
public:
    static constexpr bool makes_last_itself = true;

    explicit TaskflowGroup(TaskflowScope /*scope*/) : group_(TaskflowScope::executor->task_group()) {}

    template <class Work>
    void run(Work work) {
        group_.silent_async([work = std::move(work)] { work(TaskflowScope{}); });
    }

    /// Makes the last one itself, then waits for all, and works on what is queued meanwhile. Returns what the
    /// last one does.
    template <class Work>
    auto run_and_wait(const Work& work) {
        if constexpr (std::is_void_v<decltype(work(TaskflowScope{}))>) {
            work(TaskflowScope{});
            group_.corun();
        } else {
            const auto result = work(TaskflowScope{});
            group_.corun();
            return result;
        }
    }

private:
    tf::TaskGroup group_;
};

#else

using TaskflowScope = tf::Runtime&;

/// The tasks that one task forks.
class TaskflowGroup {
public:
    static constexpr bool makes_last_itself = false;

    explicit TaskflowGroup(TaskflowScope scope) : runtime_(scope) {}

    template <class Work>
    void run(Work work) {
        runtime_.silent_async([work = std::move(work)](tf::Runtime& own) { work(own); });
    }

    /// The last one is a task too: made here it would wait for its parent's other tasks as if for its own.
    template <class Work>
    auto run_and_wait(Work work) {
        using Result = decltype(work(std::declval<tf::Runtime&>()));
        if constexpr (std::is_void_v<Result>) {
            run(std::move(work));
            runtime_.corun_all();
        } else {
            Result result{};
            run([&result, work = std::move(work)](tf::Runtime& own) { result = work(own); });
            runtime_.corun_all();
            return result;
        }
    }

private:
    tf::Runtime& runtime_;
};

#endif

/// As many worker threads as were asked for; the calling thread waits. One at a time in a process: who is
/// made later takes the place of the one before.
class TaskflowThreads {
public:
    explicit TaskflowThreads(unsigned threads, std::shared_ptr<tf::WorkerInterface> interface = nullptr) {
        executor_.emplace(threads, std::move(interface));
        latest_ = this;
    }
    TaskflowThreads(const TaskflowThreads&) = delete;
    TaskflowThreads& operator=(const TaskflowThreads&) = delete;
    ~TaskflowThreads() {
        if (latest_ == this) { executor_.reset(); }
    }

    /// `work(scope)` as a task. Its result is returned.
    template <class Work>
    auto execute(const Work& work) {
#if TF_VERSION >= 400000
        return executor_->async([&work] { return work(TaskflowScope{}); }).get();
#else
        using Result = decltype(work(std::declval<tf::Runtime&>()));
        if constexpr (std::is_void_v<Result>) {
            executor_->async([&work](tf::Runtime& own) { work(own); }).get();
        } else {
            Result result{};
            executor_->async([&](tf::Runtime& own) { result = work(own); }).get();
            return result;
        }
#endif
    }

private:
#if TF_VERSION >= 400000
    static constexpr std::optional<tf::Executor>& executor_ = TaskflowScope::executor;
#else
    static inline std::optional<tf::Executor> executor_;
#endif
    static inline const TaskflowThreads* latest_ = nullptr;
};

}  // namespace toll
