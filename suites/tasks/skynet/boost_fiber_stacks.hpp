#pragma once

// Where fibers get their stacks. Each class models Boost.Context's stack allocator, is made from Inputs, and
// is copied into every fiber, which gives its stack back through the copy.

#include "../shared/fiber_workers.hpp"
#include "machine_limits.hpp"

#include <atomic>
#include <boost/fiber/all.hpp>
#include <memory>
#include <mutex>

namespace toll::skynet {

/// malloc and free for each stack.
struct FixedStacks : boost::fibers::fixedsize_stack {
    explicit FixedStacks(const Inputs&) : basic_fixedsize_stack(fiber_stack_bytes) {}

    static bool room() noexcept { return true; }
    static void check() noexcept {}
};

/// Boost's pool of stacks, which keeps them until the contender ends. It has no lock of its own, and a fiber
/// that migrates gives its stack back in another thread than it got it from: two threads or more share it
/// behind a mutex.
class PooledStacks {
public:
    explicit PooledStacks(const Inputs& inputs) : shared_(std::make_shared<Shared>(inputs.threads > 1)) {}

    boost::context::stack_context allocate() {
        const auto lock = shared_->lock();
        return shared_->pool.allocate();
    }
    void deallocate(boost::context::stack_context& stack) noexcept {
        const auto lock = shared_->lock();
        shared_->pool.deallocate(stack);
    }

    static bool room() noexcept { return true; }
    static void check() noexcept {}

private:
    struct Shared {
        explicit Shared(bool needs_lock) : locked(needs_lock) {}
        std::unique_lock<std::mutex> lock() {
            return locked ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
        }
        bool locked;
        std::mutex mutex;
        boost::fibers::pooled_fixedsize_stack pool{fiber_stack_bytes};
    };
    std::shared_ptr<Shared> shared_;
};

/// mmap and munmap for each stack, with a guard page below it. Two memory maps a stack: beyond
/// vm.max_map_count Boost ignores that mprotect fails, and then mmap fails in the middle of a fiber. So the
/// stacks that are alive are counted, which costs two atomic additions beside three system calls.
class ProtectedStacks {
public:
    explicit ProtectedStacks(const Inputs& inputs) : shared_(std::make_shared<Shared>(inputs)) {}

    boost::context::stack_context allocate() {
        shared_->alive.fetch_add(1, std::memory_order_relaxed);
        return shared_->stacks.allocate();
    }
    void deallocate(boost::context::stack_context& stack) noexcept {
        shared_->stacks.deallocate(stack);
        shared_->alive.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Threads that ask at the same time may pass together: the limit's reserve covers them.
    [[nodiscard]] bool room() noexcept {
        if (shared_->alive.load(std::memory_order_relaxed) < shared_->limit.units) { return true; }
        shared_->exceeded.store(true, std::memory_order_relaxed);
        return false;
    }
    void check() {
        if (shared_->exceeded.exchange(false)) { throw beyond(shared_->limit, shared_->inputs, "stacks"); }
    }

private:
    struct Shared {
        explicit Shared(const Inputs& asked)
            : inputs(asked), limit(guarded_stacks_limit(units_below_root(asked.tasks))) {}
        Inputs inputs;
        Limit limit;
        boost::fibers::protected_fixedsize_stack stacks{fiber_stack_bytes};
        std::atomic<std::uint64_t> alive{0};
        std::atomic<bool> exceeded{false};
    };
    std::shared_ptr<Shared> shared_;
};

/// Tells `census` of each stack: a fiber is alive as long as it holds one.
template <class Stacks>
struct CountedStacks : Stacks {
    using Stacks::Stacks;

    boost::context::stack_context allocate() {
        auto stack = Stacks::allocate();
        census.made();
        return stack;
    }
    void deallocate(boost::context::stack_context& stack) noexcept {
        Stacks::deallocate(stack);
        census.ended();
    }
};

}  // namespace toll::skynet
