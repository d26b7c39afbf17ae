#pragma once

// tasks/nqueens: how many ways there are to place n queens on n by n squares so that none threatens another.
// Column after column, each queen that the ones before do not threaten is a task of its own. The number of
// solutions is the answer (sequence A000170 of the OEIS).
// Source: Cilk's example of that name (MIT, 1990s), as in tzcnt/runtime-benchmarks, whose board it has: a row
// a column, looked at queen by queen.

#include <toll/contender.hpp>
#include <toll/keep.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace toll::nqueens {

inline constexpr std::size_t smallest = 4;
inline constexpr std::size_t largest = 14;
/// Solutions on boards of `smallest` and more.
inline constexpr std::array<std::uint64_t, largest - smallest + 1> solutions{
    2, 10, 4, 40, 92, 352, 724, 2680, 14'200, 73'712, 365'596};

struct Inputs {
    std::size_t n;             ///< queens, columns and rows
    unsigned threads;          ///< operating-system threads that run the tasks
    std::uint64_t placed = 0;  ///< queens that all tries place together: the tasks of one iteration
};

/// The row of the queen in each column so far.
template <std::size_t N>
using Board = std::array<std::uint8_t, N>;

/// Rows of the next column that no queen of the first `placed` threatens, ascending.
template <std::size_t N>
struct Free {
    Free(const Board<N>& board, std::size_t placed) noexcept {
        for (int row = 0; row < static_cast<int>(N); ++row) {
            if (is_free(board, static_cast<int>(placed), row)) {
                rows[count++] = static_cast<std::uint8_t>(row);
            }
        }
    }

    static bool is_free(const Board<N>& board, int placed, int row) noexcept {
        for (int column = 0; column < placed; ++column) {
            const int queen = board[static_cast<std::size_t>(column)];
            const int apart = placed - column;
            if (queen == row || queen == row - apart || queen == row + apart) { return false; }
        }
        return true;
    }

    Board<N> rows{};
    std::size_t count = 0;
};

/// Of each queen of a column, how many solutions begin with it.
template <std::size_t N>
using Found = std::array<std::uint64_t, N>;

template <std::size_t N>
[[nodiscard]] std::uint64_t total(const Found<N>& found, std::size_t count) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) { sum += found[i]; }
    return sum;
}

/// What a contender models: made once with its threads, then asked again and again.
///  - `run(board)` returns the number of solutions on that empty board, by a task for each queen that is
///    placed, or for each but one of its column;
///  - `once_per_process` (optional): true for a library that cannot be set up twice in one process.
template <class T>
concept Search = std::constructible_from<T, const Inputs&> && requires(T search, Board<largest> board) {
    { search.run(board) } -> std::same_as<std::uint64_t>;
};

template <Search T>
class Workload {
public:
    static constexpr WorkloadInfo info{"tasks/nqueens", Kind::batch, "ns", "task"};
    static constexpr bool once_per_process = requires { requires T::once_per_process; };

    static std::vector<Parameter> parameters() {
        return {{"n", "11", "queens", "queens on a board of n by n squares, 4 to 14"},
                {"threads", "cpus", "threads", "operating-system threads that run the tasks"}};
    }

    explicit Workload(const Arguments& arguments) : inputs_{inputs_of(arguments)}, search_{inputs_} {}

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return inputs_.placed; }

    Checksum run(std::uint64_t iterations) {
        return of_size(inputs_.n, [this, iterations]<std::size_t N>(Board<N> board) {
            Checksum sum{0};
            for (std::uint64_t i = 0; i < iterations; ++i) {
                keep_changed(board);  // else a compiler that sees through a contender searches once
                sum += search_.run(board);
            }
            return sum;
        });
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * solutions[inputs_.n - smallest];
    }

    [[nodiscard]] Footing footing() const {
        Footing footing;
        footing.set({"threads", inputs_.threads});
        return footing;
    }

private:
    static constexpr std::uint64_t most_threads = 1024;

    static Inputs inputs_of(const Arguments& arguments) {
        const auto n = static_cast<std::size_t>(arguments.number("n", smallest, largest));
        return {n, static_cast<unsigned>(arguments.number("threads", 1, most_threads)),
                of_size(n, []<std::size_t N>(Board<N> board) { return queens_placed(board, 0); })};
    }

    template <std::size_t N>
    static std::uint64_t queens_placed(Board<N> board, std::size_t placed) {  // NOLINT(misc-no-recursion)
        if (placed == N) { return 0; }
        const Free<N> free{board, placed};
        std::uint64_t sum = free.count;
        for (std::size_t i = 0; i < free.count; ++i) {
            board[placed] = free.rows[i];
            sum += queens_placed(board, placed + 1);
        }
        return sum;
    }

    /// Calls `work` with an empty board of the size that was asked for: contenders know it when compiled.
    template <class Work>
    static std::uint64_t of_size(std::size_t n, const Work& work) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            std::uint64_t result = 0;
            const auto one = [&]<std::size_t N>(Board<N> board) {
                if (n == N) { result = work(board); }
            };
            (one(Board<smallest + I>{}), ...);
            return result;
        }(std::make_index_sequence<largest - smallest + 1>{});
    }

    Inputs inputs_;
    T search_;
};

}  // namespace toll::nqueens
