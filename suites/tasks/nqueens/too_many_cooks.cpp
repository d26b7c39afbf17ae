#include "../shared/too_many_cooks_threads.hpp"
#include "workload.hpp"

#include <tmc/spawn_many.hpp>

#include <ranges>

struct TooManyCooks {
    explicit TooManyCooks(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute(from(board, 0));
    }

    template <std::size_t N>
    static tmc::task<std::uint64_t> from(toll::nqueens::Board<N> board,
                                         std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        auto tasks = std::views::iota(std::size_t{0}, free.count) | std::views::transform([&](std::size_t i) {
                         board[placed] = free.rows[i];
                         return from(board, placed + 1);
                     });
        // Room for as many results as a column can have: an array of the frame, where a vector would be
        // another block from the heap.
        const toll::nqueens::Found<N> found = co_await tmc::spawn_many<N>(tasks.begin(), tasks.end());
        co_return toll::nqueens::total(found, free.count);
    }

    toll::TooManyCooksThreads threads_;
};

TOLL_CONTENDER(nqueens, too_many_cooks, TooManyCooks);
