#pragma once

// What the Seastar contenders share: one Seastar in this process, asked from the main thread once a batch.
// The iterations run in a thread of shard 0's own: polling shards leave no CPU to a third one that begins
// each.

#include "workload.hpp"

#include <toll/errors.hpp>

#include <seastar/core/alien.hh>
#include <seastar/core/app-template.hh>
#include <seastar/core/future.hh>
#include <seastar/core/loop.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/thread.hh>

#include <boost/range/irange.hpp>

#include <exception>
#include <future>
#include <string>
#include <thread>
#include <utility>

namespace toll::cachecalc {

/// Whether a shard that has nothing to do burns its CPU.
enum class Idle { polls, sleeps };

/// One shard a thread. Seastar cannot be started twice in a process.
class SeastarRuntime {
public:
    /// Throws Unsupported where Seastar does not start.
    SeastarRuntime(unsigned shards, Idle idle) : thread_([this, shards, idle] { serve(shards, idle); }) {
        try {
            alien_ = started_.get_future().get();
        } catch (...) {
            thread_.join();
            throw;
        }
    }
    SeastarRuntime(const SeastarRuntime&) = delete;
    SeastarRuntime& operator=(const SeastarRuntime&) = delete;
    ~SeastarRuntime() {
        seastar::alien::run_on(*alien_, 0, [this]() noexcept { ended_.set_value(); });
        thread_.join();
    }

    /// Calls `work`, which may wait for futures, in a Seastar thread on shard 0; throws what it throws.
    template <class Work>
    void inside(Work& work) {
        seastar::alien::submit_to(*alien_, 0, [&work] { return seastar::async([&work] { work(); }); }).get();
    }

private:
    static seastar::app_template::seastar_options options(unsigned shards, Idle idle) {
        seastar::app_template::seastar_options options;
        options.auto_handle_sigint_sigterm = false;
        options.smp_opts.smp.set_value(shards);
        options.smp_opts.memory.set_value("512M");
        options.log_opts.logger_ostream_type.set_value(
            seastar::logger_ostream_type::cerr);  // answers: stdout
        if (idle == Idle::sleeps) {
            options.reactor_opts.overprovisioned.set_value();
        } else {
            options.reactor_opts.poll_mode.set_value();
        }
        return options;
    }

    void serve(unsigned shards, Idle idle) {
        seastar::app_template app{options(shards, idle)};
        std::string name = "toll";
        char* words[] = {name.data(), nullptr};
        bool serving = false;
        app.run(1, words, [&] {
            serving = true;
            started_.set_value(&app.alien());
            return ended_.get_future();
        });
        if (!serving) {
            started_.set_exception(
                std::make_exception_ptr(Unsupported("Seastar did not start; it said why on stderr")));
        }
    }

    std::promise<seastar::alien::instance*> started_;
    seastar::promise<> ended_;
    std::thread thread_;
    seastar::alien::instance* alien_ = nullptr;
};

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
