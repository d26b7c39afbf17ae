#include "../shared/stdexec_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

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
        toll::nqueens::Found<N> found{};
        std::array<std::exception_ptr, N + 1> failures;  // of each queen, and of who places them
        stdexec::simple_counting_scope scope;
        try {
            for (std::size_t i = 0; i < free.count; ++i) {
                board[placed] = free.rows[i];
                spawn(scope, stdexec::starts_on(pool, from(pool, board, placed + 1)), found[i], failures[i]);
            }
        } catch (...) { failures[N] = std::current_exception(); }
        co_await scope.join();
        for (const std::exception_ptr& failure : failures) {
            if (failure) { std::rethrow_exception(failure); }
        }
        co_return toll::nqueens::total(found, free.count);
    }

    /// A scope takes what throws nothing.
    static void spawn(stdexec::simple_counting_scope& scope, auto queen, std::uint64_t& found,
                      std::exception_ptr& failure) {
        stdexec::spawn(std::move(queen) | stdexec::then([&found](std::uint64_t below) noexcept {
                           found = below;
                       }) | stdexec::upon_error([&failure](std::exception_ptr thrown) noexcept {
                           failure = std::move(thrown);
                       }),
                       scope.get_token());
    }

    toll::StdexecPool threads_;
};

}  // namespace

TOLL_CONTENDER(nqueens, stdexec, Stdexec);
