// Boost.Asio's channel, by what a side does where the channel has room, or a message, at once.
#pragma once

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

namespace toll::channel::asio {

using Executor = boost::asio::thread_pool::executor_type;
using Channel =
    boost::asio::experimental::concurrent_channel<Executor, void(boost::system::error_code, std::uint64_t)>;
template <class T>
using Coroutine = boost::asio::awaitable<T, Executor>;
inline constexpr boost::asio::use_awaitable_t<Executor> use_awaitable;

inline constexpr std::uint64_t end = 0;  // which no producer sends

enum class Tries {
    none,  ///< each message is an asynchronous operation, and goes through the executor
    first  ///< only who has to wait is one (docs/tasks.md has what that gains)
};

template <Tries tries>
Coroutine<void> produce(Channel& channel, Share share) {
    for (std::uint64_t i = 0; i < share.count; ++i) {
        if constexpr (tries == Tries::first) {
            if (channel.try_send(boost::system::error_code{}, share.first + i)) { continue; }
        }
        co_await channel.async_send(boost::system::error_code{}, share.first + i, use_awaitable);
    }
}

template <Tries tries>
Coroutine<Received> consume(Channel& channel) {
    Received all;
    for (;;) {
        std::uint64_t message = end;
        const auto take = [&message](boost::system::error_code, std::uint64_t one) { message = one; };
        if (tries == Tries::none || !channel.try_receive(take)) {
            message = co_await channel.async_receive(use_awaitable);
        }
        if (message == end) { co_return all; }
        all.add(message);
    }
}

template <Tries tries>
struct ConcurrentChannel {
    explicit ConcurrentChannel(const Inputs& inputs) : inputs_(inputs), pool_(inputs.threads) {}

    Received run() {
        Channel channel{pool_.get_executor(), capacity};
        std::vector<std::future<Received>> consumers;
        std::vector<std::future<void>> producers;
        for (unsigned i = 0; i < inputs_.a_side(); ++i) {
            consumers.push_back(co_spawn(pool_, consume<tries>(channel), boost::asio::use_future));
            producers.push_back(
                co_spawn(pool_, produce<tries>(channel, inputs_.share(i)), boost::asio::use_future));
        }
        for (auto& producer : producers) { producer.wait(); }
        // One last message for each consumer, behind all others: in Boost 1.81 a channel that is closed drops
        // what it holds.
        for (std::size_t i = 0; i < consumers.size(); ++i) {
            channel.async_send(boost::system::error_code{}, end, boost::asio::use_future).get();
        }
        Received all;
        for (auto& consumer : consumers) { all += consumer.get(); }
        return all;
    }

    Inputs inputs_;
    boost::asio::thread_pool pool_;
};

}  // namespace toll::channel::asio
