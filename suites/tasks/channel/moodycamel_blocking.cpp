#include "thread_sides.hpp"

#include <concurrentqueue/blockingconcurrentqueue.h>

struct MoodycamelBlocking {
    explicit MoodycamelBlocking(const toll::channel::Inputs& inputs) : inputs_(inputs) {
        toll::channel::require_threads(inputs.threads);
    }

    toll::channel::Received run() {
        moodycamel::BlockingConcurrentQueue<std::uint64_t> queue;
        const auto produce = [&queue](toll::Share share) {
            const moodycamel::ProducerToken token{queue};
            for (std::uint64_t i = 0; i < share.count; ++i) { queue.enqueue(token, share.first + i); }
        };
        // It cannot be closed, and has no order among producers, so that no message can be the last one: each
        // consumer takes as many as a producer sends.
        const auto consume = [this, &queue](unsigned index) {
            moodycamel::ConsumerToken token{queue};
            toll::channel::Received received;
            for (std::uint64_t left = inputs_.share(index).count; left > 0; --left) {
                std::uint64_t message = 0;
                queue.wait_dequeue(token, message);
                if (message == give_up) { break; }
                received.add(message);
            }
            return received;
        };
        const auto close = [this, &queue](bool all_sent) {
            for (unsigned i = 0; !all_sent && i < inputs_.a_side(); ++i) { queue.enqueue(give_up); }
        };
        return toll::channel::by_threads(inputs_, produce, consume, close);
    }

    static constexpr std::uint64_t give_up = 0;  // which no producer sends

    toll::channel::Inputs inputs_;
};

TOLL_CONTENDER(channel, moodycamel_blocking, MoodycamelBlocking);
