#include "../shared/stdexec_pool.hpp"
#include "workload.hpp"

#include <exec/async_scope.hpp>

#include <cstddef>
#include <cstdint>

namespace {  // what stdexec makes of senders has no linkage, and frames hold it

struct Stdexec {
    explicit Stdexec(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute(from(threads_.scheduler(), board, 0));
    }

    /// A scope for the queens of a column: when_all takes as many as are known when it is compiled.
    template <std::size_t N>
    static toll::StdexecTask<std::uint64_t> from(toll::StdexecPool::Scheduler pool,
                                                 toll::nqueens::Board<N> board,
                                                 std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { co_return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { co_return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        exec::async_scope scope;
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            scope.spawn(stdexec::starts_on(pool, from(pool, board, placed + 1)) |
                        stdexec::then([&one = found[i]](std::uint64_t below) noexcept { one = below; }));
        }
        co_await scope.on_empty();
        co_return toll::nqueens::total(found, free.count);
    }

    toll::StdexecPool threads_;
};

}  // namespace

TOLL_CONTENDER(nqueens, stdexec, Stdexec);
