#include "asio_handlers.hpp"

/// The document's "boost_threadpool": computations on the strand of a pool of one thread, which computes and
/// nothing else; timers on a pool of their own.
template <class Executor>
struct BoostAsioComputingPool {
    explicit BoostAsioComputingPool(const toll::cachecalc::Inputs& inputs)
        : threads_(inputs.threads + 1), timers_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::run_by_handlers<Executor>(load, strand_, timers_.get_executor());
    }
    [[nodiscard]] toll::Footing footing() const {
        return {{"waits", toll::cachecalc::asio_waits}, {"threads", threads_}};
    }

    unsigned threads_;  // of both pools
    boost::asio::thread_pool timers_;
    boost::asio::thread_pool computing_{1};
    boost::asio::strand<Executor> strand_{computing_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_computing_pool, BoostAsioComputingPool<toll::cachecalc::PoolExecutor>);
TOLL_CONTENDER(cachecalc, boost_asio_computing_pool_any_io_executor,
               BoostAsioComputingPool<boost::asio::any_io_executor>);
