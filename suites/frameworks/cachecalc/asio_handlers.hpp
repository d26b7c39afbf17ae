#pragma once

// What the Boost.Asio contenders with completion handlers share.

#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <memory>

namespace toll::cachecalc {

using PoolExecutor = asio::thread_pool::executor_type;

/// Of each task a computation on the strand, a timer on `timers`, and a computation on the strand.
template <class Executor>
void run_by_handlers(Load& load, asio::strand<Executor>& strand, const Executor& timers) {
    Countdown left{load.tasks()};
    for (std::uint64_t task = 0; task < load.tasks(); ++task) {
        asio::post(strand, [&load, &left, &strand, &timers, task] {
            load.compute();
            load.wait_begins(task);
            const auto timer = std::make_shared<Timer<Executor>>(timers, load.wait());
            timer->async_wait([&load, &left, &strand, task, timer](const boost::system::error_code&) {
                load.wait_ended(task);
                asio::post(strand, [&load, &left] {
                    load.compute();
                    left.count_down();
                });
            });
        });
    }
    left.wait();
}

}  // namespace toll::cachecalc
