#include "../shared/fiber_workers.hpp"
#include "workload.hpp"

struct BoostFiberWorkStealing {
    static constexpr bool once_per_process = toll::WorkStealingFibers::once_per_process;

    explicit BoostFiberWorkStealing(const toll::nqueens::Inputs& inputs)
        : fibers_(inputs.threads, inputs.placed) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        std::uint64_t solutions = 0;
        fibers_.execute([&] { solutions = from(board, 0); });
        return solutions;
    }

    template <std::size_t N>
    static std::uint64_t from(toll::nqueens::Board<N> board,
                              std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        std::array<boost::fibers::fiber, N> forked;
        const std::size_t last = free.count - 1;
        for (std::size_t i = 0; i < last; ++i) {
            board[placed] = free.rows[i];
            forked[i] = toll::WorkStealingFibers::start(
                [board, placed, &one = found[i]] { one = from(board, placed + 1); });
        }
        board[placed] = free.rows[last];
        found[last] = from(board, placed + 1);
        for (std::size_t i = 0; i < last; ++i) { forked[i].join(); }
        return toll::nqueens::total(found, free.count);
    }

    toll::WorkStealingFibers fibers_;
};

TOLL_CONTENDER(nqueens, boost_fiber_work_stealing, BoostFiberWorkStealing);
