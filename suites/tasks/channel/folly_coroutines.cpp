#include "../shared/folly_pool.hpp"
#include "workload.hpp"

#include <folly/coro/UnboundedQueue.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

/// The last producer to end sends a last message for each consumer: the queue cannot be closed.
struct FollyCoroutines {
    explicit FollyCoroutines(const toll::channel::Inputs& inputs)
        : inputs_(inputs), threads_(inputs.threads) {}

    toll::channel::Received run() {
        Queue queue;
        std::atomic<unsigned> producing{inputs_.a_side()};
        std::vector<folly::coro::Task<toll::channel::Received>> sides;
        for (unsigned i = 0; i < inputs_.a_side(); ++i) { sides.push_back(consume(queue)); }
        for (unsigned i = 0; i < inputs_.a_side(); ++i) {
            sides.push_back(produce(queue, inputs_.share(i), producing, inputs_.a_side()));
        }
        const std::vector<toll::channel::Received> ended = threads_.execute(all_of(std::move(sides)));
        toll::channel::Received all;
        for (const toll::channel::Received& one : ended) { all += one; }
        return all;
    }

private:
    using Queue = folly::coro::UnboundedQueue<std::uint64_t>;
    static constexpr std::uint64_t end = 0;  // which no producer sends otherwise

    static folly::coro::Task<std::vector<toll::channel::Received>> all_of(
        std::vector<folly::coro::Task<toll::channel::Received>> sides) {
        co_return co_await folly::coro::collectAllRange(std::move(sides));
    }

    /// Never waits for room: the queue has no bound.
    static folly::coro::Task<toll::channel::Received> produce(Queue& queue, toll::Share share,
                                                              std::atomic<unsigned>& producing,
                                                              unsigned consumers) {
        co_await folly::coro::co_reschedule_on_current_executor;
        for (std::uint64_t i = 0; i < share.count; ++i) { queue.enqueue(share.first + i); }
        if (--producing == 0) {
            for (unsigned i = 0; i < consumers; ++i) { queue.enqueue(end); }
        }
        co_return {};
    }

    static folly::coro::Task<toll::channel::Received> consume(Queue& queue) {
        co_await folly::coro::co_reschedule_on_current_executor;
        toll::channel::Received received;
        for (std::uint64_t message = co_await queue.dequeue(); message != end;
             message = co_await queue.dequeue()) {
            received.add(message);
        }
        co_return received;
    }

    toll::channel::Inputs inputs_;
    toll::FollyPool threads_;
};

TOLL_CONTENDER(channel, folly_coroutines, FollyCoroutines);
