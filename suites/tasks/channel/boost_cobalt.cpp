#include "../shared/one_thread.hpp"
#include "workload.hpp"

#include <boost/cobalt/channel.hpp>
#include <boost/cobalt/join.hpp>
#include <boost/cobalt/promise.hpp>
#include <boost/cobalt/run.hpp>
#include <boost/cobalt/task.hpp>

#include <cstdint>
#include <vector>

namespace {

namespace cobalt = boost::cobalt;
using Channel = cobalt::channel<std::uint64_t>;
constexpr std::uint64_t end = 0;  // which no producer sends otherwise

cobalt::promise<void> produce(Channel& channel, toll::Share share) {
    for (std::uint64_t i = 0; i < share.count; ++i) { co_await channel.write(share.first + i); }
}

cobalt::promise<toll::channel::Received> consume(Channel& channel) {
    toll::channel::Received received;
    for (std::uint64_t message = co_await channel.read(); message != end; message = co_await channel.read()) {
        received.add(message);
    }
    co_return received;
}

/// Ends by a last message for each consumer: what a channel holds that is closed cannot be read any more.
cobalt::task<toll::channel::Received> both_sides(toll::channel::Inputs inputs) {
    Channel channel{toll::channel::capacity, co_await cobalt::this_coro::executor};
    std::vector<cobalt::promise<toll::channel::Received>> consumers;
    std::vector<cobalt::promise<void>> producers;
    for (unsigned i = 0; i < inputs.a_side(); ++i) { consumers.push_back(consume(channel)); }
    for (unsigned i = 0; i < inputs.a_side(); ++i) { producers.push_back(produce(channel, inputs.share(i))); }
    co_await cobalt::join(producers);
    for (unsigned i = 0; i < inputs.a_side(); ++i) { co_await channel.write(end); }
    toll::channel::Received all;
    for (auto& consumer : consumers) { all += co_await consumer; }
    co_return all;
}

}  // namespace

struct BoostCobalt {
    explicit BoostCobalt(const toll::channel::Inputs& inputs) : inputs_(inputs) {
        toll::require_one_thread(inputs.threads, "a channel of Boost.Cobalt belongs to one thread");
    }

    toll::channel::Received run() { return cobalt::run(both_sides(inputs_)); }

    toll::channel::Inputs inputs_;
};

TOLL_CONTENDER(channel, boost_cobalt, BoostCobalt);
