#include "../shared/libcoro_pool.hpp"
#include "workload.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// Producers and consumers are awaited together, as libcoro's author has it; the last producer to end says
/// that no more will come.
struct Libcoro {
    explicit Libcoro(const toll::channel::Inputs& inputs) : inputs_(inputs), threads_(inputs.threads) {}

    toll::channel::Received run() {
        coro::queue<std::uint64_t> queue;
        std::atomic<unsigned> producing{inputs_.a_side()};
        std::vector<coro::task<toll::channel::Received>> sides;
        for (unsigned i = 0; i < inputs_.a_side(); ++i) {
            sides.push_back(produce(threads_.owner(), queue, inputs_.share(i), producing));
        }
        for (unsigned i = 0; i < inputs_.a_side(); ++i) { sides.push_back(consume(threads_.pool(), queue)); }
        auto ended = coro::sync_wait(coro::when_all(std::move(sides)));
        toll::channel::Received all;
        for (auto& one : ended) { all += one.return_value(); }
        return all;
    }

private:
    using Queue = coro::queue<std::uint64_t>;

    /// Never waits for room: the queue has no bound.
    static coro::task<toll::channel::Received> produce(std::unique_ptr<coro::thread_pool>& pool, Queue& queue,
                                                       toll::Share share, std::atomic<unsigned>& producing) {
        co_await pool->schedule();
        for (std::uint64_t i = 0; i < share.count; ++i) { co_await queue.push(share.first + i); }
        if (--producing == 0) { co_await queue.shutdown_drain(pool); }
        co_return {};
    }

    static coro::task<toll::channel::Received> consume(coro::thread_pool& pool, Queue& queue) {
        co_await pool.schedule();
        toll::channel::Received received;
        while (const auto message = co_await queue.pop()) { received.add(*message); }
        co_return received;
    }

    toll::channel::Inputs inputs_;
    toll::LibcoroPool threads_;
};

TOLL_CONTENDER(channel, libcoro, Libcoro);
