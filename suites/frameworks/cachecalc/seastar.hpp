#pragma once

// What the Seastar contenders share: one Seastar, asked from the main thread once a batch.
// The iterations run in a thread of shard 0's own: polling shards leave no CPU to a third one that begins
// each.

#include "../../tasks/shared/seastar_runtime.hpp"
#include "workload.hpp"

#include <seastar/core/future.hh>
#include <seastar/core/loop.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>

#include <boost/range/irange.hpp>

#include <cstdint>

namespace toll::cachecalc {

template <Idle idle>
Footing seastar_footing(const char* serialized_by) {
    const bool polls = idle == Idle::polls;
    return {{"waits", polls ? "timer; an idle shard polls: burns its CPU" : "timer; an idle shard sleeps"},
            {"pinning", polls ? "a CPU for each shard" : "none"},
            {"serialized_by", serialized_by}};
}

/// One cache, on shard 0; the waits take turns over all shards.
template <Idle idle>
class SeastarShardZero {
public:
    static constexpr bool once_per_process = true;

    explicit SeastarShardZero(const Inputs& inputs) : seastar_(inputs.threads, idle) {}

    static void run(Load& load) {
        seastar::parallel_for_each(boost::irange<std::uint64_t>(0, load.tasks()), [&load](
                                                                                      std::uint64_t task) {
            return one(load, task);
        }).get();
    }
    template <class All>
    void inside(All& all) {
        seastar_.inside(all);
    }
    [[nodiscard]] static Footing footing() { return seastar_footing<idle>("shard 0"); }

private:
    static seastar::future<> one(Load& load, std::uint64_t task) {
        return seastar::smp::submit_to(0,
                                       [&load, task] {
                                           load.compute();
                                           load.wait_begins(task);
                                       })
            .then([&load, task] {
                return seastar::smp::submit_to(static_cast<unsigned>(task % seastar::smp::count),
                                               [&load] { return seastar::sleep(load.wait()); });
            })
            .then([&load, task] {
                return seastar::smp::submit_to(0, [&load, task] {
                    load.wait_ended(task);
                    load.compute();
                });
            });
    }

    SeastarRuntime seastar_;
};

/// A cache for each shard, and each shard runs its own part of the tasks: nothing is shared.
template <Idle idle>
class SeastarSharded {
public:
    static constexpr bool once_per_process = true;

    explicit SeastarSharded(const Inputs& inputs) : seastar_(inputs.threads, idle) {}

    static unsigned shards(const Inputs& inputs) { return inputs.threads; }

    static void run(Load& load) {
        seastar::smp::invoke_on_all([&load] { return own_part(load, seastar::this_shard_id()); }).get();
    }
    template <class All>
    void inside(All& all) {
        seastar_.inside(all);
    }
    [[nodiscard]] static Footing footing() { return seastar_footing<idle>("each shard's own data"); }

private:
    static seastar::future<> own_part(Load& load, unsigned shard) {
        const std::uint64_t first = load.first_task_of(shard);
        return seastar::parallel_for_each(boost::irange(first, first + load.tasks_of(shard)),
                                          [&load, &cache = load.cache(shard)](std::uint64_t task) {
                                              cache.compute();
                                              load.wait_begins(task);
                                              return seastar::sleep(load.wait()).then([&load, &cache, task] {
                                                  load.wait_ended(task);
                                                  cache.compute();
                                              });
                                          });
    }

    SeastarRuntime seastar_;
};

}  // namespace toll::cachecalc
