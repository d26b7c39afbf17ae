#pragma once

#include "pins.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <latch>
#include <vector>

namespace toll::skynet {

/// Asio's pool of threads, tied where that is asked for. It takes nothing to be run by each new thread, so
/// every thread is kept in a handler until all others are in one: then each has had exactly one.
class AsioWorkers {
public:
    explicit AsioWorkers(const Inputs& inputs) : pins_(inputs), pool_(inputs.threads) {
        if (pins_.wanted()) { tie(inputs.threads); }
    }

    [[nodiscard]] boost::asio::thread_pool& pool() noexcept { return pool_; }
    [[nodiscard]] const Pins& pins() const noexcept { return pins_; }

private:
    void tie(unsigned threads) {
        std::latch all{static_cast<std::ptrdiff_t>(threads)};
        std::vector<std::future<void>> ended(threads);
        for (unsigned i = 0; i < threads; ++i) {
            const auto worker = [this, &all, i] {
                pins_.tie(i);
                all.arrive_and_wait();
            };
            ended[i] = boost::asio::post(pool_, boost::asio::use_future(worker));
        }
        for (std::future<void>& one : ended) { one.get(); }
    }

    Pins pins_;
    boost::asio::thread_pool pool_;
};

}  // namespace toll::skynet
