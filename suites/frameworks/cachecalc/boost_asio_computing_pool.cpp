#include "asio_handlers.hpp"

/// The document's "boost_threadpool": computations on the strand of a pool of one thread, which computes and
/// nothing else; timers on a pool of their own.
struct BoostAsioComputingPool {
    explicit BoostAsioComputingPool(const toll::cachecalc::Inputs& inputs)
        : threads_(inputs.threads + 1), timers_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) { toll::cachecalc::run_by_handlers(load, strand_, timers_); }
    [[nodiscard]] toll::Footing footing() const {
        return {{"waits", toll::cachecalc::asio_waits}, {"threads", threads_}};
    }

    unsigned threads_;  // of both pools
    boost::asio::thread_pool timers_;
    boost::asio::thread_pool computing_{1};
    boost::asio::strand<toll::cachecalc::PoolExecutor> strand_{computing_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_computing_pool, BoostAsioComputingPool);
