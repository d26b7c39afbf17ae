#include "thread_sides.hpp"

#include <oneapi/tbb/concurrent_queue.h>

struct OneTbbBoundedQueue {
    explicit OneTbbBoundedQueue(const toll::channel::Inputs& inputs) : inputs_(inputs) {
        toll::channel::require_threads(inputs.threads);
    }

    toll::channel::Received run() {
        tbb::concurrent_bounded_queue<std::uint64_t> queue;
        queue.set_capacity(toll::channel::capacity);
        const auto produce = [&queue](toll::Share share) {
            for (std::uint64_t i = 0; i < share.count; ++i) { queue.push(share.first + i); }
        };
        const auto consume = [&queue](unsigned /*index*/) {
            toll::channel::Received received;
            for (std::uint64_t message = 0;;) {
                queue.pop(message);
                if (message == end) { return received; }
                received.add(message);
            }
        };
        // It cannot be closed: one last message for each consumer, behind all others.
        const auto close = [&](bool /*all_sent*/) {
            for (unsigned i = 0; i < inputs_.a_side(); ++i) { queue.push(end); }
        };
        return toll::channel::by_threads(inputs_, produce, consume, close);
    }

    static constexpr std::uint64_t end = 0;  // which no producer sends

    toll::channel::Inputs inputs_;
};

TOLL_CONTENDER(channel, onetbb_bounded_queue, OneTbbBoundedQueue);
