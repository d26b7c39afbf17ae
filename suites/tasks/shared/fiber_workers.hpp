#pragma once

#include "memory_limit.hpp"

#include <atomic>
#include <boost/fiber/all.hpp>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace toll {

/// The published programs used 4 KiB (one page), which crashes on a machine with AVX-512: the dynamic linker
/// saves the vector registers on the fiber's stack when it resolves a symbol for the first time. Seen with
/// Boost 1.81 and glibc 2.36: 4 and 8 KiB crash, 8 KiB survives with LD_BIND_NOW=1, 16 KiB always did.
inline constexpr std::size_t fiber_stack_bytes = std::size_t{16} * 1024;

/// This thread and `threads - 1` more under one Boost.Fiber scheduling algorithm. The workers' main fibers
/// sleep until the end; their schedulers run other fibers meanwhile.
class FiberWorkers {
public:
    /// `join(i)` installs the algorithm in the i-th thread, which calls it once; the calling thread is the
    /// 0th.
    template <class Join>
    FiberWorkers(unsigned threads, Join join) : missing_(static_cast<std::ptrdiff_t>(threads) - 1) {
        try {
            for (unsigned i = 1; i < threads; ++i) {
                workers_.emplace_back([this, join, i] {
                    all_made_.wait(Made::unknown);
                    if (all_made_ == Made::no) { return; }
                    join(i);
                    missing_.count_down();
                    std::unique_lock lock{mutex_};
                    end_.wait(lock, [this] { return ended_; });
                });
            }
        } catch (...) {
            tell(Made::no);  // a machine that is out of threads: those that exist must be joined
            end();
            throw;
        }
        // Not before all are made: work stealing holds each thread until all others have come.
        tell(Made::yes);
        join(0U);
        missing_.wait();  // else the workers' start would fall into the first timed part
    }
    FiberWorkers(const FiberWorkers&) = delete;
    FiberWorkers& operator=(const FiberWorkers&) = delete;
    ~FiberWorkers() { end(); }

private:
    enum class Made { unknown, yes, no };

    void tell(Made made) {
        all_made_ = made;
        all_made_.notify_all();
    }
    void end() {
        std::unique_lock lock{mutex_};
        ended_ = true;
        lock.unlock();
        end_.notify_all();
        for (std::thread& worker : workers_) { worker.join(); }
    }

    std::atomic<Made> all_made_{Made::unknown};
    std::latch missing_;  ///< workers that cannot run fibers yet
    std::mutex mutex_;
    boost::fibers::condition_variable_any end_;
    bool ended_ = false;
    std::vector<std::thread> workers_;
};

/// A queue of fibers for each thread; a thread whose queue is empty takes from another's.
class WorkStealingFibers {
public:
    /// Boost.Fiber counts these schedulers in a static variable and never forgets one.
    static constexpr bool once_per_process = true;

    /// `fibers` is how many a tree has at most. Throws Unsupported where their stacks would take half of the
    /// memory: an ended fiber's is given back by its thread's scheduler, whose turn comes behind all fibers
    /// that may go on (fib(27), of 317,810 fibers, held 942 MB in one thread).
    WorkStealingFibers(unsigned threads, std::uint64_t fibers)
        : workers_(with_room_for(fibers, threads), [threads](unsigned) {
              boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(threads);
          }) {}

    /// `work` runs at once on a fiber of its own; the one that starts it goes on behind those that wait
    /// longer.
    template <class Work>
    [[nodiscard]] static boost::fibers::fiber start(Work&& work) {
        return {boost::fibers::launch::dispatch, std::allocator_arg,
                boost::fibers::fixedsize_stack(fiber_stack_bytes), std::forward<Work>(work)};
    }

    /// Runs `work` on a fiber, which other threads may take as any other: the caller's own stays with its
    /// thread.
    template <class Work>
    static void execute(Work&& work) {
        start(std::forward<Work>(work)).join();
    }

private:
    static unsigned with_room_for(std::uint64_t fibers, unsigned threads) {
        constexpr std::uint64_t touched_bytes = 4096;
        require_memory(fibers, touched_bytes, "fibers, whose stacks are given back late");
        return threads;
    }

    FiberWorkers workers_;
};

}  // namespace toll
