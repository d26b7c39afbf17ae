#include "../shared/concurrencpp_pool.hpp"
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

struct Concurrencpp {
    explicit Concurrencpp(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return from({}, threads_.executor(), board, 0).get();
    }

    template <std::size_t N>
    static concurrencpp::result<std::uint64_t> from(concurrencpp::executor_tag tag,
                                                    toll::ConcurrencppPool::Executor pool,
                                                    toll::nqueens::Board<N> board,
                                                    std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        std::vector<concurrencpp::result<std::uint64_t>> tasks;
        tasks.reserve(free.count);
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            tasks.push_back(from(tag, pool, board, placed + 1));
        }
        std::uint64_t found = 0;
        for (auto& one : tasks) { found += co_await one; }
        co_return found;
    }

    toll::ConcurrencppPool threads_;
};

TOLL_CONTENDER(nqueens, concurrencpp, Concurrencpp);
