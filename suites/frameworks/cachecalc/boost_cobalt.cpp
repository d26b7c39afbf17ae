#include "workload.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/cobalt/op.hpp>
#include <boost/cobalt/promise.hpp>
#include <boost/cobalt/run.hpp>
#include <boost/cobalt/task.hpp>
#include <boost/cobalt/this_coro.hpp>
#include <boost/cobalt/wait_group.hpp>

#include <cstdint>

namespace {

namespace cobalt = boost::cobalt;

cobalt::promise<void> one(toll::cachecalc::Load& load, std::uint64_t task) {
    load.compute();
    load.wait_begins(task);
    boost::asio::steady_timer timer{co_await cobalt::this_coro::executor, load.wait()};
    co_await timer.async_wait(cobalt::use_op);
    load.wait_ended(task);
    load.compute();
}

/// A promise begins where it is made, and is awaited by the group.
cobalt::task<void> all(toll::cachecalc::Load& load) {
    cobalt::wait_group group;
    for (std::uint64_t task = 0; task < load.tasks(); ++task) { group.push_back(one(load, task)); }
    co_await group.wait();
}

}  // namespace

struct BoostCobalt {
    explicit BoostCobalt(const toll::cachecalc::Inputs& inputs) {
        toll::cachecalc::require_one_thread(inputs, "Boost.Cobalt's coroutines share the one thread");
    }

    void run(toll::cachecalc::Load& load) { cobalt::run(all(load)); }
    static toll::Footing footing() {
        return {{"waits", "asynchronous timer; an idle thread sleeps in epoll"}};
    }
};

TOLL_CONTENDER(cachecalc, boost_cobalt, BoostCobalt);
