#include "asio_tree.hpp"

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

struct BoostAsioThreadPool : toll::skynet::Coroutines<boost::asio::thread_pool::executor_type> {
    explicit BoostAsioThreadPool(const toll::skynet::Inputs& inputs)
        : Coroutines(inputs), pool_(inputs.threads) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return co_spawn(pool_, sum(pool_.get_executor(), root, Unit{}), boost::asio::use_future).get();
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return BoostAsioThreadPool(inputs).run<toll::skynet::Counted>(root);
    }

    boost::asio::thread_pool pool_;
};

TOLL_CONTENDER(skynet, boost_asio_thread_pool, BoostAsioThreadPool);
