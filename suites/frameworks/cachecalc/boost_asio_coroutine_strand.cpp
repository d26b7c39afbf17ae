#include "asio_tasks.hpp"
#include "countdown.hpp"

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

/// Whole tasks on a strand of a pool, their timers too: no task changes its executor.
struct BoostAsioCoroutineStrand {
    explicit BoostAsioCoroutineStrand(const toll::cachecalc::Inputs& inputs) : pool_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::Countdown left{load.tasks()};
        const auto ended = [&left](const std::exception_ptr&) { left.count_down(); };
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            co_spawn(strand_, serialized_task(load, task, strand_), ended);
        }
        left.wait();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    boost::asio::thread_pool pool_;
    boost::asio::strand<boost::asio::thread_pool::executor_type> strand_{pool_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_coroutine_strand, BoostAsioCoroutineStrand);
