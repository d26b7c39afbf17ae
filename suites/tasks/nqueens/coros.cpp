#include "../shared/coros_pool.hpp"
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

struct Coros {
    explicit Coros(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute(from(board, 0));
    }

    template <std::size_t N>
    static coros::Task<std::uint64_t> from(toll::nqueens::Board<N> board,
                                           std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        std::vector<coros::Task<std::uint64_t>> tasks;
        tasks.reserve(free.count);
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            tasks.push_back(from(board, placed + 1));
        }
        co_await coros::wait_tasks(tasks);
        std::uint64_t found = 0;
        for (auto& one : tasks) { found += toll::result_of(one); }
        co_return found;
    }

    toll::CorosPool threads_;
};

TOLL_CONTENDER(nqueens, coros, Coros);
