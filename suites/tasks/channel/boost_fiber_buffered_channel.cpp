#include "thread_sides.hpp"

#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

/// A fiber for each side: both in the calling thread where it is the only one, else each in a thread of its
/// own, as the main fiber of that.
struct BoostFiberBufferedChannel {
    explicit BoostFiberBufferedChannel(const toll::channel::Inputs& inputs) : inputs_(inputs) {
        if (inputs.threads > 1) { toll::channel::require_threads(inputs.threads); }
    }

    toll::channel::Received run() {
        boost::fibers::buffered_channel<std::uint64_t> channel{toll::channel::capacity};
        const auto produce = [&channel](toll::Share share) {
            for (std::uint64_t i = 0; i < share.count; ++i) { channel.push(share.first + i); }
        };
        const auto consume = [&channel](unsigned /*index*/) {
            toll::channel::Received received;
            for (std::uint64_t message = 0;
                 channel.pop(message) == boost::fibers::channel_op_status::success;) {
                received.add(message);
            }
            return received;
        };
        const auto close = [&channel](bool /*all_sent*/ = true) { channel.close(); };
        if (inputs_.threads > 1) { return toll::channel::by_threads(inputs_, produce, consume, close); }
        toll::channel::Received received;
        boost::fibers::fiber consumer{[&] { received = consume(0); }};
        boost::fibers::fiber producer{[&] { produce(inputs_.share(0)); }};
        producer.join();
        close();
        consumer.join();
        return received;
    }

    toll::channel::Inputs inputs_;
};

TOLL_CONTENDER(channel, boost_fiber_buffered_channel, BoostFiberBufferedChannel);
