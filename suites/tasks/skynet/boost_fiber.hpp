#pragma once

// The Boost.Fiber contenders: a scheduler, a stack allocator and a way for results to travel. Every child
// runs at once on a fiber of its own (launch::dispatch, as in Boost.Fiber's own skynet programs).

#include "boost_fiber_schedulers.hpp"
#include "boost_fiber_stacks.hpp"
#include "spawning.hpp"

#include <boost/fiber/all.hpp>
#include <memory>
#include <utility>

namespace toll::skynet {

/// What all fiber sources share: stacks, and their limit.
template <class Stacks>
class Fibers {
public:
    explicit Fibers(const Inputs& inputs) : stacks_(inputs) {}

    bool room() noexcept { return stacks_.room(); }
    static void ended() noexcept {}  // a stack is given back later, by the scheduler
    void check() { stacks_.check(); }

protected:
    template <class Work>
    boost::fibers::fiber fiber(Work&& work) {
        return {boost::fibers::launch::dispatch, std::allocator_arg, stacks_, std::forward<Work>(work)};
    }

    Stacks stacks_;
};

template <class Stacks>
struct JoinedFibers : Fibers<Stacks> {
    using Fibers<Stacks>::Fibers;
    using Unit = boost::fibers::fiber;

    template <class Work>
    Unit start(Work work) {
        return this->fiber(std::move(work));
    }
};

template <class Stacks>
struct DetachedFibers : Fibers<Stacks> {
    using Fibers<Stacks>::Fibers;

    template <class Work>
    void start(Work work) {
        this->fiber(std::move(work)).detach();
    }
};

template <class Stacks>
struct FutureFibers : Fibers<Stacks> {
    using Fibers<Stacks>::Fibers;
    using Unit = boost::fibers::future<std::uint64_t>;

    template <class Work>
    Unit start(Work work) {
        return boost::fibers::async(boost::fibers::launch::dispatch, std::allocator_arg, this->stacks_,
                                    std::move(work));
    }
};

template <class Stacks>
using Join = JoinedTree<JoinedFibers<Stacks>>;
template <class Stacks>
using Detach = DetachedTree<DetachedFibers<Stacks>, boost::fibers::buffered_channel<std::uint64_t>>;
template <class Stacks>
using Future = FutureTree<FutureFibers<Stacks>>;

/// The scheduler outlives the tree: fibers that have ended are given back by it.
template <class Scheduler, template <class> class Sum, class Stacks>
struct BoostFiber : private Scheduler, public Sum<Stacks> {
    explicit BoostFiber(const Inputs& inputs) : Scheduler(inputs), Sum<Stacks>(inputs) {}

    /// Under the scheduler that is there already: work stealing cannot be had twice in one process.
    static std::uint64_t count(const Inputs& inputs, Subtree root) {
        return Sum<CountedStacks<Stacks>>(inputs).run(root);
    }

    using Scheduler::pins;

    static constexpr bool once_per_process = requires { requires Scheduler::once_per_process; };
};

}  // namespace toll::skynet
