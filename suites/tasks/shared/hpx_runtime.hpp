#pragma once

#include <toll/errors.hpp>

#include <hpx/future.hpp>
#include <hpx/init.hpp>
#include <hpx/runtime_local/run_as_hpx_thread.hpp>
#include <hpx/runtime_local/runtime_local.hpp>

#include <array>
#include <memory>
#include <string>
#include <utility>

namespace toll {

/// HPX's runtime with as many worker threads as were asked for, each of which HPX ties to a CPU; the calling
/// thread waits. A process has one: who is made while there is one shares it. Its scheduler is as it comes:
/// of fast_idle_mode, no idle backoff and the modes that runtime-benchmarks sets none was faster than the
/// scatter (fib(25), 2 threads), and hpx::launch::fork took twice the time and four times the memory.
class HpxRuntime {
public:
    /// Bytes of a lightweight thread's stack, without a guard page: as runtime-benchmarks has them.
    static constexpr unsigned stack_bytes = 16'384;

    /// Throws Unsupported where HPX does not start: it has no more threads than CPUs that it may use.
    explicit HpxRuntime(unsigned threads) : running_(latest_.lock()) {
        if (running_ == nullptr) {
            running_ = std::make_shared<Running>(threads);
            latest_ = running_;
        }
        if (running_->threads != threads) {
            throw Unsupported("HPX runs once in a process, with " + std::to_string(running_->threads) +
                              " threads now");
        }
    }

    /// `work()` in one of HPX's threads; its result or what it throws comes here.
    template <class Work>
    auto execute(Work&& work) {
        return hpx::run_as_hpx_thread(std::forward<Work>(work));
    }

private:
    struct Running {
        explicit Running(unsigned asked) : threads(asked) {
            hpx::local::init_params how;
            how.cfg = {"hpx.os_threads!=" + std::to_string(threads),
                       "hpx.stacks.small_size!=" + std::to_string(stack_bytes),
                       "hpx.stacks.use_guard_pages!=0",
                       "hpx.use_process_mask!=1",  // else it ties threads to CPUs that taskset forbids
                       "hpx.handle_signals!=0",    // else Ctrl-C is an abort
                       "hpx.handle_failed_new!=0"};
            static std::array<char, 5> name{"toll"};  // HPX keeps the pointers
            static std::array<char*, 2> words{name.data(), nullptr};
            if (!hpx::local::start(nullptr, 1, words.data(), how)) {
                throw Unsupported("HPX does not start with threads=" + std::to_string(threads) +
                                  "; it has at most one for each CPU that the process may use");
            }
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        ~Running() {
            hpx::run_as_hpx_thread([] { hpx::local::finalize(); });
            hpx::local::stop();
        }

        unsigned threads;
    };

    static inline std::weak_ptr<Running> latest_;
    std::shared_ptr<Running> running_;
};

}  // namespace toll
