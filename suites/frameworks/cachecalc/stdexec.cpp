#include "../../tasks/shared/stdexec_task.hpp"
#include "workload.hpp"

#include <exec/single_thread_context.hpp>
#include <exec/timed_thread_scheduler.hpp>
#include <stdexec/execution.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

namespace {  // what stdexec makes of senders has no linkage, and frames hold it

/// A coroutine each in one thread, which computes; its waits end in the thread of stdexec's timers, from
/// which it comes back.
struct Stdexec {
    explicit Stdexec(const toll::cachecalc::Inputs& inputs) {
        toll::cachecalc::require_one_thread(inputs,
                                            "one thread computes, beside stdexec's own of its timers");
    }

    void run(toll::cachecalc::Load& load) { stdexec::sync_wait(all(load)); }

    static toll::Footing footing() {
        return {{"waits", "timer in a thread of its own, which sleeps until the next is due"}};
    }

private:
    using Task = toll::StdexecTask<void>;

    Task all(toll::cachecalc::Load& load) {
        stdexec::simple_counting_scope scope;
        std::exception_ptr failure;
        try {
            for (std::uint64_t task = 0; task < load.tasks(); ++task) {
                // A wait that fails would leave its task undone, which the workload's check of the keys sees.
                stdexec::spawn(stdexec::starts_on(computing_.get_scheduler(), one(load, task)) |
                                   stdexec::upon_error([](auto&&) noexcept {}),
                               scope.get_token());
            }
        } catch (...) { failure = std::current_exception(); }
        co_await scope.join();
        if (failure) { std::rethrow_exception(failure); }
    }

    Task one(toll::cachecalc::Load& load, std::uint64_t task) {
        load.compute();
        load.wait_begins(task);
        co_await exec::schedule_after(timers_.get_scheduler(), load.wait());
        load.wait_ended(task);
        co_await stdexec::schedule(computing_.get_scheduler());
        load.compute();
    }

    exec::timed_thread_context timers_;
    exec::single_thread_context computing_;
};

}  // namespace

TOLL_CONTENDER(cachecalc, stdexec, Stdexec);
