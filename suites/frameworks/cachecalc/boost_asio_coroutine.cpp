#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

namespace asio = boost::asio;

/// Tasks on a pool, which step onto its strand for each computation and back.
template <class Executor>
struct BoostAsioCoroutine {
    explicit BoostAsioCoroutine(const toll::cachecalc::Inputs& inputs) : pool_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        const auto ended = [&left](const std::exception_ptr&) { left.count_down(); };
        for (std::uint64_t i = 0; i < load.tasks(); ++i) { co_spawn(executor_, task(load, i), ended); }
        left.wait();
    }

    asio::awaitable<void, Executor> task(toll::cachecalc::Load& load, std::uint64_t number) {
        constexpr asio::use_awaitable_t<Executor> awaited;
        co_await asio::dispatch(asio::bind_executor(strand_, awaited));
        load.compute();
        co_await asio::dispatch(asio::bind_executor(executor_, awaited));
        load.wait_begins(number);
        toll::cachecalc::Timer<Executor> timer{executor_, load.wait()};
        co_await timer.async_wait(awaited);
        load.wait_ended(number);
        co_await asio::dispatch(asio::bind_executor(strand_, awaited));
        load.compute();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    asio::thread_pool pool_;
    Executor executor_{pool_.get_executor()};
    asio::strand<Executor> strand_{executor_};
};

TOLL_CONTENDER(cachecalc, boost_asio_coroutine, BoostAsioCoroutine<asio::thread_pool::executor_type>);
TOLL_CONTENDER(cachecalc, boost_asio_coroutine_any_io_executor, BoostAsioCoroutine<asio::any_io_executor>);
