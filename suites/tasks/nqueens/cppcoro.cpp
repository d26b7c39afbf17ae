#include "workload.hpp"

#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

struct Cppcoro {
    explicit Cppcoro(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return cppcoro::sync_wait(from(threads_, board, 0));
    }

    template <std::size_t N>
    static cppcoro::task<std::uint64_t> from(cppcoro::static_thread_pool& pool, toll::nqueens::Board<N> board,
                                             std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        co_await pool.schedule();
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        std::vector<cppcoro::task<std::uint64_t>> tasks;
        tasks.reserve(free.count);
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            tasks.push_back(from(pool, board, placed + 1));
        }
        const std::vector<std::uint64_t> found = co_await cppcoro::when_all(std::move(tasks));
        co_return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
    }

    cppcoro::static_thread_pool threads_;
};

TOLL_CONTENDER(nqueens, cppcoro, Cppcoro);
