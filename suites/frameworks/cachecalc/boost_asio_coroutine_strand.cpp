#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

using Strand = boost::asio::strand<boost::asio::thread_pool::executor_type>;

/// Whole tasks on a strand of a pool, their timers too: no task changes its executor.
template <class Executor>
struct BoostAsioCoroutineStrand {
    explicit BoostAsioCoroutineStrand(const toll::cachecalc::Inputs& inputs) : pool_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        const auto ended = [&left](const std::exception_ptr&) { left.count_down(); };
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            co_spawn(executor_, serialized_task(load, task, executor_), ended);
        }
        left.wait();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    boost::asio::thread_pool pool_;
    Executor executor_{Strand{pool_.get_executor()}};
};

TOLL_CONTENDER(cachecalc, boost_asio_coroutine_strand, BoostAsioCoroutineStrand<Strand>);
TOLL_CONTENDER(cachecalc, boost_asio_coroutine_strand_any_io_executor,
               BoostAsioCoroutineStrand<boost::asio::any_io_executor>);
