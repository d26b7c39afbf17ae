#include "waiting_pool.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

struct AsioPool {
    boost::asio::thread_pool pool;
    explicit AsioPool(unsigned threads) : pool(threads) {}
    AsioPool(const AsioPool&) = delete;
    AsioPool& operator=(const AsioPool&) = delete;
    ~AsioPool() { pool.join(); }
    template <class Task>
    void submit(Task task) {
        boost::asio::post(pool, std::move(task));
    }
};

TOLL_CONTENDER(thread_start, boost_asio_thread_pool, toll::thread_start::PooledTask<AsioPool>);
