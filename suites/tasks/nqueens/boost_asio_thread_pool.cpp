#include "../shared/asio_pool.hpp"
#include "workload.hpp"

struct BoostAsioThreadPool {
    explicit BoostAsioThreadPool(const toll::nqueens::Inputs& inputs)
        : pool_(inputs.threads, inputs.placed) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return pool_.execute(from(pool_.executor(), board, 0));
    }

    template <std::size_t N>
    static toll::AsioPool::Awaitable<std::uint64_t> from(toll::AsioPool::Executor pool,
                                                         toll::nqueens::Board<N> board,
                                                         std::size_t placed) {  // NOLINT(misc-no-recursion)
#if defined(__clang_analyzer__)
        co_return 0;  // it does not know how coroutines begin, and finds uninitialised frames inside Asio
#endif
        if (placed == N) { co_return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        const auto next = [&](std::size_t i) {
            board[placed] = free.rows[i];
            return from(pool, board, placed + 1);
        };
        co_return co_await toll::total_of_spawned<N>(pool, free.count, next);
    }

    toll::AsioPool pool_;
};

TOLL_CONTENDER(nqueens, boost_asio_thread_pool, BoostAsioThreadPool);
