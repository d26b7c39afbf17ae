#include "../shared/folly_pool.hpp"
#include "../shared/memory_limit.hpp"
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

struct FollyCoroutines {
    explicit FollyCoroutines(const toll::nqueens::Inputs& inputs) : threads_(with_room(inputs)) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute(from(board, 0));
    }

    template <std::size_t N>
    static folly::coro::Task<std::uint64_t> from(toll::nqueens::Board<N> board,
                                                 std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        co_await folly::coro::co_reschedule_on_current_executor;
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        std::vector<folly::coro::Task<std::uint64_t>> tasks;
        tasks.reserve(free.count);
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            tasks.push_back(from(board, placed + 1));
        }
        std::uint64_t found = 0;
        const auto ended = co_await folly::coro::collectAllTryRange(std::move(tasks));
        for (const auto& one : ended) { found += one.value(); }
        co_return found;
    }

private:
    static constexpr std::uint64_t bytes = 1'100;  // a queen: 780 to 970 (n of 11)

    static unsigned with_room(const toll::nqueens::Inputs& inputs) {
        toll::require_memory(inputs.placed, bytes, "coroutines that may wait at once");
        return inputs.threads;
    }

    toll::FollyPool threads_;
};

TOLL_CONTENDER(nqueens, folly_coroutines, FollyCoroutines);
