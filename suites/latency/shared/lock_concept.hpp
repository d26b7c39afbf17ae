// What every lock of latency/lock, latency/contention and latency/wakeup offers, whoever wrote it.
#pragma once

#include <concepts>
#include <mutex>

namespace toll::locks {

namespace detail {

template <class L>
struct HeldBy {
    using type = std::scoped_lock<L>;
};

/// oneTBB's way for locks that need a node of their own for each acquisition: the guard is the node.
template <class L>
    requires requires { typename L::scoped_lock; }
struct HeldBy<L> {
    using type = typename L::scoped_lock;
};

}  // namespace detail

/// One acquisition: `Held<L> held{lock};` acquires the lock and keeps it until the end of the scope.
/// A queue lock's guard holds its node, so that it may neither be copied nor moved.
template <class L>
using Held = typename detail::HeldBy<L>::type;

/// A lock that `Held` can acquire. What one owner wrote before it released the lock, the next one reads.
template <class L>
concept Lock = std::default_initializable<L> && std::constructible_from<Held<L>, L&>;

/// A lock without a guard's node: another scope, or another thread's turn, may release it.
template <class L>
concept PlainLock = Lock<L> && requires(L lock) {
    lock.lock();
    lock.unlock();
};

}  // namespace toll::locks
