#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>

/// The document's "boost_threadpool": computations on the strand of a pool of one thread, which computes and
/// nothing else; timers on a pool of their own.
struct BoostAsioComputingPool {
    using Executor = boost::asio::thread_pool::executor_type;

    explicit BoostAsioComputingPool(const toll::cachecalc::Inputs& inputs)
        : threads_(inputs.threads + 1), timers_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            post(strand_, [this, &load, &left, task] {
                load.compute();
                load.wait_begins(task);
                const auto timer =
                    std::make_shared<toll::cachecalc::Timer<Executor>>(timers_.get_executor(), load.wait());
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
    [[nodiscard]] toll::Footing footing() const {
        return {{"waits", toll::cachecalc::asio_waits}, {"threads", threads_}};
    }

    unsigned threads_;  // of both pools
    boost::asio::thread_pool timers_;
    boost::asio::thread_pool computing_{1};
    boost::asio::strand<Executor> strand_{computing_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_computing_pool, BoostAsioComputingPool);
