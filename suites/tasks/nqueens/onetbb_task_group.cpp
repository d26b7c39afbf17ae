#include "../shared/onetbb_arena.hpp"
#include "workload.hpp"

#include <oneapi/tbb/task_group.h>

struct OneTbbTaskGroup {
    explicit OneTbbTaskGroup(const toll::nqueens::Inputs& inputs) : threads_(inputs.threads) {}

    template <std::size_t N>
    std::uint64_t run(const toll::nqueens::Board<N>& board) {
        return threads_.execute([&] { return from(board, 0); });
    }

    template <std::size_t N>
    static std::uint64_t from(toll::nqueens::Board<N> board,
                              std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 1; }
        const toll::nqueens::Free<N> free{board, placed};
        if (free.count == 0) { return 0; }
        toll::nqueens::Found<N> found;  // NOLINT(cppcoreguidelines-pro-type-member-init) each writes its own
        tbb::task_group group;
        const std::size_t last = free.count - 1;
        for (std::size_t i = 0; i < last; ++i) {
            board[placed] = free.rows[i];
            group.run([board, placed, &one = found[i]] { one = from(board, placed + 1); });
        }
        board[placed] = free.rows[last];
        group.run_and_wait([&board, placed, &one = found[last]] { one = from(board, placed + 1); });
        return toll::nqueens::total(found, free.count);
    }

    toll::OneTbbArena threads_;
};

TOLL_CONTENDER(nqueens, onetbb_task_group, OneTbbTaskGroup);
