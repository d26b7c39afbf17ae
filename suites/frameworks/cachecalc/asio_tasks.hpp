#pragma once

// What the Boost.Asio contenders share. Where executors stand in the types, nothing is erased at a timer or a
// resumption; the contenders *_any_io_executor have them behind that, which is what Asio's own short names
// (steady_timer, awaitable<T>) stand for.

#include "workload.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace toll::cachecalc {

namespace asio = boost::asio;

template <class Executor>
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

template <class Executor>
inline constexpr asio::use_awaitable_t<Executor> awaited;

inline constexpr const char* asio_waits = "asynchronous timer; an idle thread sleeps in epoll";

/// One task on an executor that runs one thing at a time.
template <class Executor>
asio::awaitable<void, Executor> serialized_task(Load& load, std::uint64_t task, Executor executor) {
    load.compute();
    load.wait_begins(task);
    Timer<Executor> timer{executor, load.wait()};
    co_await timer.async_wait(awaited<Executor>);
    load.wait_ended(task);
    load.compute();
}

}  // namespace toll::cachecalc
