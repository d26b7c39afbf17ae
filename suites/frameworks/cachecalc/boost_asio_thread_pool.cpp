#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>

/// Completion handlers: a computation on the strand, a timer on the pool, a computation on the strand.
struct BoostAsioThreadPool {
    using Executor = boost::asio::thread_pool::executor_type;

    explicit BoostAsioThreadPool(const toll::cachecalc::Inputs& inputs) : pool_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            post(strand_, [this, &load, &left, task] {
                load.compute();
                load.wait_begins(task);
                const auto timer =
                    std::make_shared<toll::cachecalc::Timer<Executor>>(pool_.get_executor(), load.wait());
                timer->async_wait([this, &load, &left, task, timer](const boost::system::error_code&) {
                    load.wait_ended(task);
                    post(strand_, [&load, &left] {
                        load.compute();
                        left.count_down();
                    });
                });
            });
        }
        left.wait();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    boost::asio::thread_pool pool_;
    boost::asio::strand<Executor> strand_{pool_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_thread_pool, BoostAsioThreadPool);
