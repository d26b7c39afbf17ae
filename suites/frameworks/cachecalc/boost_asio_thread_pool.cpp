#include "asio_handlers.hpp"

/// Completion handlers: a computation on the strand, a timer on the pool, a computation on the strand.
struct BoostAsioThreadPool {
    explicit BoostAsioThreadPool(const toll::cachecalc::Inputs& inputs) : pool_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        toll::cachecalc::run_by_handlers(load, strand_, pool_.get_executor());
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::asio_waits}}; }

    boost::asio::thread_pool pool_;
    boost::asio::strand<toll::cachecalc::PoolExecutor> strand_{pool_.get_executor()};
};

TOLL_CONTENDER(cachecalc, boost_asio_thread_pool, BoostAsioThreadPool);
