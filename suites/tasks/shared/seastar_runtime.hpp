#pragma once

// What the Seastar contenders of several topics share: one Seastar in this process, asked from a thread that
// is none of its shards.

#include <toll/errors.hpp>

#include <seastar/core/alien.hh>
#include <seastar/core/app-template.hh>
#include <seastar/core/future.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/thread.hh>

#include <exception>
#include <future>
#include <string>
#include <thread>
#include <utility>

namespace toll {

/// Whether a shard that has nothing to do burns its CPU.
enum class Idle {
    polls,          ///< all along
    sleeps,         ///< which it does at once; its thread is tied to no CPU (overprovisioned)
    polls_briefly,  ///< as Seastar comes: it polls for 0.2 ms, then sleeps
};

/// One shard a thread. Seastar cannot be started twice in a process.
class SeastarRuntime {
public:
    /// Throws Unsupported where Seastar does not start.
    SeastarRuntime(unsigned shards, Idle idle)
        : thread_([this, shards, idle] { serve(shards, options(shards, idle)); }) {
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

    /// Calls `work` on shard 0; what the future that it returns comes to, or throws, comes here.
    template <class Work>
    auto execute(Work work) {
        return seastar::alien::submit_to(*alien_, 0, std::move(work)).get();
    }

    /// Calls `work`, which may wait for futures, in a Seastar thread on shard 0; throws what it throws.
    template <class Work>
    void inside(Work& work) {
        execute([&work] { return seastar::async([&work] { work(); }); });
    }

private:
    static seastar::app_template::seastar_options options(unsigned shards, Idle idle) {
        seastar::app_template::seastar_options options;
        options.auto_handle_sigint_sigterm = false;
        options.smp_opts.smp.set_value(shards);
        options.smp_opts.memory.set_value("512M");
        options.log_opts.logger_ostream_type.set_value(
            seastar::logger_ostream_type::cerr);  // answers: stdout
        // A shard that grows a tree in one task has not stalled, and must print no trace while it is timed.
        options.reactor_opts.blocked_reactor_notify_ms.set_value(600'000);
        if (idle == Idle::sleeps) {
            options.reactor_opts.overprovisioned.set_value();
        } else if (idle == Idle::polls) {
            options.reactor_opts.poll_mode.set_value();
        }
        return options;
    }

    void serve(unsigned shards, seastar::app_template::seastar_options options) {
        seastar::app_template app{std::move(options)};
        std::string name = "toll";
        char* words[] = {name.data(), nullptr};
        bool serving = false;
        app.run(1, words, [&] {
            serving = true;
            started_.set_value(&app.alien());
            return ended_.get_future();
        });
        if (!serving) {
            started_.set_exception(std::make_exception_ptr(
                Unsupported("Seastar did not start with threads=" + std::to_string(shards) +
                            "; it has at most one for each CPU that the process may use, and said why on "
                            "stderr")));
        }
    }

    std::promise<seastar::alien::instance*> started_;
    seastar::promise<> ended_;
    std::thread thread_;
    seastar::alien::instance* alien_ = nullptr;
};

}  // namespace toll
