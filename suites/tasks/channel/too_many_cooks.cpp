#include "../shared/too_many_cooks_threads.hpp"
#include "workload.hpp"

#include <tmc/channel.hpp>
#include <tmc/spawn_many.hpp>

#include <vector>

struct TooManyCooks {
    explicit TooManyCooks(const toll::channel::Inputs& inputs) : inputs_(inputs), threads_(inputs.threads) {}

    toll::channel::Received run() { return threads_.execute(both_sides(inputs_)); }

private:
    using Channel = tmc::chan_tok<std::uint64_t>;
    static constexpr std::size_t spins = 10;  // of a consumer that finds nothing, as its author's program has

    static tmc::task<toll::channel::Received> both_sides(toll::channel::Inputs inputs) {
        Channel channel = tmc::make_channel<std::uint64_t>();
        channel.set_consumer_spins(spins);
        std::vector<tmc::task<void>> producers;
        std::vector<tmc::task<toll::channel::Received>> consumers;
        for (unsigned i = 0; i < inputs.a_side(); ++i) {
            producers.push_back(produce(channel, inputs.share(i)));
            consumers.push_back(consume(channel));
        }
        auto taking = tmc::spawn_many(consumers).fork();
        co_await tmc::spawn_many(producers);
        co_await channel.drain();
        const std::vector<toll::channel::Received> received = co_await std::move(taking);
        toll::channel::Received all;
        for (const toll::channel::Received& one : received) { all += one; }
        co_return all;
    }

    /// Never waits: the channel has no bound.
    static tmc::task<void> produce(Channel channel, toll::Share share) {
        for (std::uint64_t i = 0; i < share.count; ++i) { channel.post(share.first + i); }
        co_return;
    }

    static tmc::task<toll::channel::Received> consume(Channel channel) {
        toll::channel::Received received;
        while (const auto message = co_await channel.pull()) { received.add(message.value()); }
        co_return received;
    }

    toll::channel::Inputs inputs_;
    toll::TooManyCooksThreads threads_;
};

TOLL_CONTENDER(channel, too_many_cooks, TooManyCooks);
