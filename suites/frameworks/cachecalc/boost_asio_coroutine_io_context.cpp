#include "asio_tasks.hpp"

#include <boost/asio/io_context.hpp>

/// One thread runs everything; the hint spares the locks that more threads would need.
template <class Executor>
struct BoostAsioCoroutineIoContext {
    explicit BoostAsioCoroutineIoContext(const toll::cachecalc::Inputs& inputs) {
        toll::cachecalc::require_one_thread(inputs, "the io_context has one thread");
    }

    void run(toll::cachecalc::Load& load) {
        const Executor executor = context_.get_executor();
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            co_spawn(executor, serialized_task(load, task, executor), boost::asio::detached);
        }
        context_.run();
        context_.restart();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    boost::asio::io_context context_{1};
};

TOLL_CONTENDER(cachecalc, boost_asio_coroutine_io_context,
               BoostAsioCoroutineIoContext<boost::asio::io_context::executor_type>);
TOLL_CONTENDER(cachecalc, boost_asio_coroutine_io_context_any_io_executor,
               BoostAsioCoroutineIoContext<boost::asio::any_io_executor>);
