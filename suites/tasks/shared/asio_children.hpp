#pragma once

#include <array>
#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>

namespace toll {

/// Where children that run at the same time leave their results; the last one to end resumes their parent.
template <std::size_t Most, class Resume>
struct AsioSiblings {
    AsioSiblings(std::size_t count, Resume&& parent) : resume(std::move(parent)), running(count) {}

    void ended(std::size_t child, const std::exception_ptr& failure, std::uint64_t result) {
        results[child] = result;
        if (failure && !failed.test_and_set()) { first_failure = failure; }
        if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::move(resume)(first_failure,
                              std::accumulate(results.begin(), results.end(), std::uint64_t{0}));
        }
    }

    Resume resume;
    std::atomic_flag failed;
    std::exception_ptr first_failure;
    std::atomic<std::size_t> running;
    std::array<std::uint64_t, Most> results{};
};

/// Spawns the coroutines `make(0)` to `make(count - 1)`, at least one and at most `Most`, and awaits the sum
/// of what they return; throws what the first one threw that failed. `Executor` is the executor's own type,
/// not any_io_executor: nothing is erased at a spawn. The last to end sums up: handing all results to the
/// parent cost skynet's tree 2 % of its time.
template <std::size_t Most, class Executor, class Make>
boost::asio::awaitable<std::uint64_t, Executor> total_of_spawned(Executor executor, std::size_t count,
                                                                 Make make) {
    const auto spawn = [executor, count, make = std::move(make)](auto resume) {
        // Copies: once the last child is spawned, the parent may be resumed elsewhere, and this lambda gone.
        const Executor on = executor;
        const std::size_t all = count;
        const auto siblings = std::make_shared<AsioSiblings<Most, decltype(resume)>>(all, std::move(resume));
        for (std::size_t i = 0; i < all; ++i) {
            const auto ended = [siblings, i](const std::exception_ptr& failure, std::uint64_t result) {
                siblings->ended(i, failure, result);
            };
            try {
                boost::asio::co_spawn(on, make(i), ended);
            } catch (...) { ended(std::current_exception(), 0); }
        }
    };
    using Token = const boost::asio::use_awaitable_t<Executor>;
    constexpr Token await;
    using Signature = void(std::exception_ptr, std::uint64_t);
    return boost::asio::async_initiate<Token, Signature>(spawn, await);
}

}  // namespace toll
