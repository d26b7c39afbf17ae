#include "workload.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/error_code.hpp>

#include <future>
#include <vector>

namespace {

using Executor = boost::asio::thread_pool::executor_type;
using Channel =
    boost::asio::experimental::concurrent_channel<Executor, void(boost::system::error_code, std::uint64_t)>;
template <class T>
using Coroutine = boost::asio::awaitable<T, Executor>;
constexpr boost::asio::use_awaitable_t<Executor> use_awaitable;

constexpr std::uint64_t end = 0;  // which no producer sends

Coroutine<void> produce(Channel& channel, toll::Share share) {
    for (std::uint64_t i = 0; i < share.count; ++i) {
        co_await channel.async_send(boost::system::error_code{}, share.first + i, use_awaitable);
    }
}

Coroutine<toll::channel::Received> consume(Channel& channel) {
    toll::channel::Received received;
    for (;;) {
        const std::uint64_t message = co_await channel.async_receive(use_awaitable);
        if (message == end) { co_return received; }
        received.add(message);
    }
}

}  // namespace

struct BoostAsioConcurrentChannel {
    explicit BoostAsioConcurrentChannel(const toll::channel::Inputs& inputs)
        : inputs_(inputs), pool_(inputs.threads) {}

    toll::channel::Received run() {
        Channel channel{pool_.get_executor(), toll::channel::capacity};
        std::vector<std::future<toll::channel::Received>> consumers;
        std::vector<std::future<void>> producers;
        for (unsigned i = 0; i < inputs_.a_side(); ++i) {
            consumers.push_back(co_spawn(pool_, consume(channel), boost::asio::use_future));
            producers.push_back(co_spawn(pool_, produce(channel, inputs_.share(i)), boost::asio::use_future));
        }
        for (auto& producer : producers) { producer.wait(); }
        // One last message for each consumer, behind all others: in Boost 1.81 a channel that is closed drops
        // what it holds.
        for (std::size_t i = 0; i < consumers.size(); ++i) {
            channel.async_send(boost::system::error_code{}, end, boost::asio::use_future).get();
        }
        toll::channel::Received all;
        for (auto& consumer : consumers) { all += consumer.get(); }
        return all;
    }

    toll::channel::Inputs inputs_;
    boost::asio::thread_pool pool_;
};

TOLL_CONTENDER(channel, boost_asio_concurrent_channel, BoostAsioConcurrentChannel);
