#include "../shared/libcoro_pool.hpp"
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <ranges>

struct Libcoro {
    explicit Libcoro(const toll::nqueens::Inputs& inputs)
        : threads_(inputs.threads, {inputs.placed, bytes}) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return coro::sync_wait(from(threads_.pool(), board, 0));
    }

    template <std::size_t N>
    static coro::task<std::uint64_t> from(coro::thread_pool& pool, toll::nqueens::Board<N> board,
                                          std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        co_await pool.schedule();
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        auto done = co_await coro::when_all(std::views::iota(std::size_t{0}, free.count) |
                                            std::views::transform([&](std::size_t i) {
                                                board[placed] = free.rows[i];
                                                return from(pool, board, placed + 1);
                                            }));
        std::uint64_t found = 0;
        for (auto& one : done) { found += one.return_value(); }
        co_return found;
    }

    static constexpr std::uint64_t bytes = 512;  // a queen: 447 to 462 (n of 11 and 12)

    toll::LibcoroPool threads_;
};

TOLL_CONTENDER(nqueens, libcoro, Libcoro);
