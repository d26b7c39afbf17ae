#include "../shared/libcoro_pool.hpp"
#include "workload.hpp"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

/// Producers and consumers are awaited together, as libcoro's author has it. The last producer to end sends a
/// last message for each consumer: libcoro's shutdown_drain looks for what is left without the queue's lock,
/// so that messages may be lost.
struct Libcoro {
    explicit Libcoro(const toll::channel::Inputs& inputs) : inputs_(inputs), threads_(inputs.threads) {}

    toll::channel::Received run() {
        Queue queue;
        std::atomic<unsigned> producing{inputs_.a_side()};
        std::vector<coro::task<toll::channel::Received>> sides;
        for (unsigned i = 0; i < inputs_.a_side(); ++i) {
            sides.push_back(produce(threads_.pool(), queue, inputs_.share(i), producing, inputs_.a_side()));
        }
        for (unsigned i = 0; i < inputs_.a_side(); ++i) { sides.push_back(consume(threads_.pool(), queue)); }
        auto ended = coro::sync_wait(coro::when_all(std::move(sides)));
        toll::channel::Received all;
        for (auto& one : ended) { all += one.return_value(); }
        return all;
    }

private:
    using Queue = coro::queue<std::uint64_t>;
    static constexpr std::uint64_t end = 0;  // which no producer sends otherwise

    /// Never waits for room: the queue has no bound.
    static coro::task<toll::channel::Received> produce(coro::thread_pool& pool, Queue& queue,
                                                       toll::Share share, std::atomic<unsigned>& producing,
                                                       unsigned consumers) {
        co_await pool.schedule();
        for (std::uint64_t i = 0; i < share.count; ++i) { co_await queue.push(share.first + i); }
        if (--producing == 0) {
            for (unsigned i = 0; i < consumers; ++i) { co_await queue.push(end); }
        }
        co_return {};
    }

    static coro::task<toll::channel::Received> consume(coro::thread_pool& pool, Queue& queue) {
        co_await pool.schedule();
        toll::channel::Received received;
        for (auto message = co_await queue.pop(); *message != end; message = co_await queue.pop()) {
            received.add(*message);
        }
        co_return received;
    }

    toll::channel::Inputs inputs_;
    toll::LibcoroPool threads_;
};

TOLL_CONTENDER(channel, libcoro, Libcoro);
