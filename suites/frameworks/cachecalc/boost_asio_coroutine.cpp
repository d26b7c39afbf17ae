#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

namespace asio = boost::asio;
using Pool = asio::thread_pool::executor_type;

/// Tasks on a pool, which step onto its strand for each computation and back.
struct BoostAsioCoroutine {
    explicit BoostAsioCoroutine(const toll::cachecalc::Inputs& inputs) : pool_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        const auto ended = [&left](const std::exception_ptr&) { left.count_down(); };
        for (std::uint64_t i = 0; i < load.tasks(); ++i) { co_spawn(pool_, task(load, i), ended); }
        left.wait();
    }

    asio::awaitable<void, Pool> task(toll::cachecalc::Load& load, std::uint64_t number) {
        constexpr asio::use_awaitable_t<Pool> awaited;
        co_await asio::dispatch(asio::bind_executor(strand_, awaited));
        load.compute();
        co_await asio::dispatch(asio::bind_executor(pool_.get_executor(), awaited));
        load.wait_begins(number);
        toll::cachecalc::Timer<Pool> timer{pool_.get_executor(), load.wait()};
        co_await timer.async_wait(awaited);
        load.wait_ended(number);
        co_await asio::dispatch(asio::bind_executor(strand_, awaited));
        load.compute();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    asio::thread_pool pool_;
    asio::strand<Pool> strand_{pool_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_coroutine, BoostAsioCoroutine);
